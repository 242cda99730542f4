"""A report for a person at a terminal: one line per task, the first failures, one next step.

Text of a submission reaches rich only as ``Text``, never as markup, and escaped.
"""

import io
import os
import re
from collections.abc import Sequence
from typing import TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.labs.lab import PSEUDOCODE
from grader.labs.results import Report, State, TestResult
from grader.report.contracts import contract_lines, hidden_only, numbers_text, of_state
from grader.report.measured import speed_cases
from grader.report.next_step import Guide
from grader.report.notices import Level, Notice, notices
from grader.report.origins import origin_line, origins
from grader.report.plots import plots_of
from grader.report.speed import (
    SHORT_HEAD,
    gpu_line,
    short_row,
    speed_notes,
    suspicions,
)
from grader.report.summary import (
    SHOWN_AS,
    TaskSummary,
    ahead,
    functions_at_fault,
    is_stub,
    is_unwritten,
    score_line,
    summarize,
)
from grader.text import number, visible, visible_line

BAR = 10
MESSAGE = 1200  # characters of a message that fit a screen; the HTML report shows more
PRINTED = 300
WIDE = 1000  # columns of what is no terminal
SHOWN_BROKEN = 6  # contracts in words
_TAIL = re.compile(r" +$", re.MULTILINE)


def make_console(stream: TextIO) -> Console:
    """A console that interprets nothing: no markup, no emoji codes, no highlighting."""
    # rich's own NO_COLOR drops colours but keeps bold and dim; without a colour system no
    # escape sequence is written at all.
    colors = None if os.environ.get("NO_COLOR") else "auto"
    # Whoever reads a pipe or a file wraps lines as they like.
    piped = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=cast(TextIO, _Trimmed(stream)) if piped else stream,
        markup=False,
        emoji=False,
        highlight=False,
        color_system=colors,
        width=WIDE if piped else None,
    )


class _Trimmed(io.TextIOBase):
    """A stream without the spaces that rich fills lines with."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(_TAIL.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._stream.encoding or "utf-8"


def render_terminal(report: Report, guide: Guide | None = None) -> Group:
    """The whole report, for ``Console.print``."""
    parts = summarize(report)
    blocks: list[RenderableType] = [_heading(report, guide), _task_table(parts), _score(report)]
    blocks += _contracts(report)
    blocks += _speed(report)
    blocks += [_block(Text(visible_line(plot.summary), style="dim")) for plot in plots_of(report)]
    blocks += [_notice(notice) for notice in (*notices(report), *suspicions(report))]
    lost = [part for part in parts if part.lost]
    if is_stub(report):
        blocks.append(_welcome(report, lost[0], guide))
    else:
        blocks += [_failure(report, part) for part in lost if part.begun]
        blocks.append(_next_step(report, lost, guide))
    return Group(*blocks)


def _heading(report: Report, guide: Guide | None) -> Text:
    title = guide.title if guide else report.topic
    return Text(f"\nLab {report.lab:02d} · {visible_line(title)}\n", style="bold")


def _task_table(parts: Sequence[TaskSummary]) -> Padding:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=32)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for part in parts:
        task = part.task
        earned = number(task.score) if task.graded else "-"
        table.add_row(
            Text(visible_line(task.id), style="bold"),
            Text(visible_line(task.title)),
            _bar(part),
            Text(f"{earned} / {number(task.points)}"),
            Text(part.share, style="dim"),
        )
    return Padding(table, (0, 0, 0, 2))


def _bar(part: TaskSummary) -> Text:
    task = part.task
    if not task.graded:
        return Text("not graded", style="yellow")
    share = task.score / task.points if task.points else 1.0
    full = int(share * BAR)  # rounded down: a full bar means full points
    style = "green" if full == BAR else "yellow" if task.score else "red"
    return Text("█" * full, style=style) + Text("░" * (BAR - full), style="dim")


def _score(report: Report) -> Text:
    style = "bold green" if report.exit_code == 0 else "bold"
    return Text(f"\n  {score_line(report)}\n", style=style)


def _contracts(report: Report) -> list[RenderableType]:
    lines = [] if is_stub(report) else contract_lines(report)
    broken = of_state(report, State.BROKEN) if lines else []
    lines += [f"  {contract.number:>3}  {contract.says}" for contract in broken[:SHOWN_BROKEN]]
    return [_block(Text("\n".join(map(visible_line, lines)), style="dim"))] if lines else []


def _speed(report: Report) -> list[RenderableType]:
    """The measured cases in a table, the GPU in a line; nothing where nothing was measured."""
    cases = speed_cases(report)
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(*(Text(head, style="dim") for head in SHORT_HEAD))
    for case in cases:
        style = "yellow" if case.suspicious else ""
        table.add_row(*(Text(visible_line(cell), style=style) for cell in short_row(case)))
    below = [Text(visible_line(line), style="dim") for line in [gpu_line(report)] if line]
    below += [Text(f"note: {visible_line(note)}", style="dim") for note in speed_notes(report)]
    shown: list[RenderableType] = [table] if cases else []
    return [_block(Group(*shown, *below))] if shown or below else []


def _notice(notice: Notice) -> Padding:
    shown = Text()
    shown.append(
        f"{notice.level}: ", style="bold yellow" if notice.level is Level.WARNING else "bold"
    )
    shown.append(visible(notice.text))
    if notice.hint:
        shown.append(f"\nhint: {notice.hint}", style="dim")
    return _block(shown)


def _block(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 1, 2), expand=False)


def _failure(report: Report, part: TaskSummary) -> Padding:
    test = part.first
    assert test is not None
    shown = Text(visible_line(part.task.id), style="bold red")
    shown.append(f" · {visible_line(test.id)} · {SHOWN_AS[test.verdict]}", style="not bold dim")
    origin = origin_line(report, part)
    if origin:
        shown.append(f"\n  {visible_line(origin)}", style="not bold")
    body = Padding(Text(visible(test.message.strip() or "no message", MESSAGE)), (0, 0, 0, 2))
    hint = Text(f"  hint: {_hint_command(report, part)}", style="dim")
    return _block(Group(shown, body, *_printed(test), hint))


def _printed(test: TestResult) -> list[Padding]:
    if not test.output.strip():
        return []
    text = Text(f"it printed: {visible(test.output.strip(), PRINTED)}", style="dim")
    return [Padding(text, (0, 0, 0, 2))]


def _welcome(report: Report, part: TaskSummary, guide: Guide | None) -> Padding:
    """The report of an untouched stub: not a list of failures but the first step."""
    shown = Text()
    shown.append("Nothing written yet, and that is where everyone starts.\n\n", style="bold")
    shown.append(f"  1. read   {_handout(guide)}\n")
    shown.append(f"  2. open   {_stub(guide)}\n")
    shown.append(f"  3. write  {_names(part, guide)} for {number(part.task.points)} points\n")
    shown.append(f"  4. run    make grade LAB={report.lab}\n\n")
    shown.append(f"Stuck? {_hint_command(report, part)}", style="dim")
    return _block(shown)


def _next_step(report: Report, lost: Sequence[TaskSummary], guide: Guide | None) -> RenderableType:
    shown = Text()
    shown.append("next: ", style="bold")
    if report.partial:
        shown.append(f"{_grade(report, guide)}, since this one was cut off")
    elif not lost:
        shown.append(_after_success(report, guide))
    else:
        ready = [part for part in lost if not part.waiting]
        goal = next((part for part in ready if not origins(report, part)), (ready or lost)[0])
        shown.append(f"{_verb(goal)} {_names(goal, guide)} ")
        shown.append(f"in {_place(goal, guide)}, then {_grade(report, guide)}")
        lines = [*_by_function(report, goal, guide), *ahead(lost)]
        shown.append("".join(f"\n{line}" for line in lines))
    return Group(_block(shown), *_again(report, guide))


def _verb(goal: TaskSummary) -> str:
    unwritten = goal.first is not None and is_unwritten(goal.first)
    return "write" if goal.untouched or unwritten else "fix"


def _at_fault(part: TaskSummary, guide: Guide | None) -> dict[str, int]:
    return functions_at_fault(part, guide.functions.get(part.task.id, ()) if guide else ())


def _by_function(report: Report, goal: TaskSummary, guide: Guide | None) -> list[str]:
    """Say how many tests of each function fail, and how to try this task alone."""
    counts = [] if goal.untouched else [*_at_fault(goal, guide).items()]
    if not counts:
        return []
    told = ", ".join(f"{visible_line(name)} {count}" for name, count in counts)
    alone = f"{_grade(report, guide)} TASK={visible_line(goal.task.id)}"
    return [f"tests that fail: {told}; this task alone: {alone}"]


def _again(report: Report, guide: Guide | None) -> list[RenderableType]:
    """Say which seed drew the inputs: the same one draws them again."""
    seed = report.provenance.get("seed")
    if not isinstance(seed, int):
        return []
    text = f"seed {seed}; the same inputs again: {_grade(report, guide)} SEED={seed}"
    return [_block(Text(text, style="dim"))]


def _after_success(report: Report, guide: Guide | None) -> str:
    if report.exit_code == 3:
        return f"make doctor, then {_grade(report, guide)}"
    left = numbers_text(hidden_only(report))
    done = "all that was graded here passed"
    if left:
        done = f"{done}; read in the handout what the hidden tests alone try: {left}"
    if report.provenance.get("suite") == "public" and not (guide and guide.source):
        done = f"{done}; hand it in: make submit LAB={report.lab}"
    if guide and guide.next_lab is not None:
        return f"{done}; go on with make grade LAB={guide.next_lab}"
    return done


def _grade(report: Report, guide: Guide | None) -> str:
    """Return the command that grades the same submission again."""
    source = f" FROM={visible_line(guide.source)}" if guide and guide.source else ""
    return f"make grade LAB={report.lab}{source}"


def _names(part: TaskSummary, guide: Guide | None) -> str:
    known = list(guide.functions.get(part.task.id, ())) if guide else []
    names = [] if part.untouched else list(_at_fault(part, guide))
    names = names or known
    return f"{', '.join(names[:3])} (task {part.task.id})" if names else f"task {part.task.id}"


def _hint_command(report: Report, part: TaskSummary) -> str:
    return f"make hint LAB={report.lab} TASK={visible_line(part.task.id)}"


def _stub(guide: Guide | None) -> str:
    return guide.stub if guide else "the lab's file"


def _place(part: TaskSummary, guide: Guide | None) -> str:
    if part.task.id != PSEUDOCODE:
        return _stub(guide)
    return guide.pseudocode if guide else "PSEUDOCODE.md"


def _handout(guide: Guide | None) -> str:
    return guide.handout if guide else "the lab's README.md"
