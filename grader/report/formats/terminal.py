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

from grader.labs.results import RULES, Report, State, TestResult
from grader.languages.language import labelled, say
from grader.report.facts.contracts import contract_line, contract_lines, message_of, of_state
from grader.report.facts.measured import speed_cases
from grader.report.facts.next_step import (
    Guide,
    grade_command,
    handout_of,
    hint_command,
    is_alone,
    names_of,
    next_step,
    repeat_lines,
    stub_of,
)
from grader.report.facts.notices import Level, Notice, notices
from grader.report.facts.origins import origin_line
from grader.report.facts.speed import (
    SHORT_HEAD,
    gpu_line,
    short_row,
    speed_notes,
    suspicions,
)
from grader.report.facts.summary import (
    SHOWN_AS,
    TaskSummary,
    gist,
    is_stub,
    score_line,
    summarize,
)
from grader.report.markup.plots import plots_of
from grader.text import number, visible, visible_line

BAR = 10
MESSAGE = 1200  # characters of a message that fit a screen; the HTML report shows more
PRINTED = 300
WIDE = 1000  # columns of what is no terminal
SHOWN_BROKEN = 6  # contracts in words
SHOWN_OTHERS = 4  # failures of other contracts, in a line each
OTHER = 200  # characters of such a line
_TAIL = re.compile(r" +$", re.MULTILINE)


def make_console(stream: TextIO, *, plain: bool = False) -> Console:
    """A console that interprets nothing: no markup, no emoji codes, no highlighting.

    ``plain``: no escape sequence either, whatever the environment asks for.
    """
    # rich's own NO_COLOR drops colours but keeps bold and dim; without a colour system no
    # escape sequence is written at all.
    colors = None if plain or os.environ.get("NO_COLOR") else "auto"
    # Whoever reads a pipe or a file wraps lines as they like.
    piped = not stream.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=cast(TextIO, _Trimmed(stream)) if piped else stream,
        markup=False,
        emoji=False,
        highlight=False,
        force_jupyter=False,  # there rich would show what it is to write
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
    blocks += speed_part(report)
    blocks += [_block(Text(visible_line(plot.summary), style="dim")) for plot in plots_of(report)]
    blocks += [_notice(notice) for notice in (*notices(report), *suspicions(report))]
    lost = [part for part in parts if part.lost]
    if is_stub(report):
        blocks.append(_welcome(report, lost[0], guide))
    else:
        blocks += _failures(report, [part for part in lost if part.begun])
        blocks.append(_next_step(report, lost, guide))
    return Group(*blocks)


def _heading(report: Report, guide: Guide | None) -> Text:
    title = guide.title if guide else report.topic
    return Text(f"\n{say(f'Lab {report.lab:02d} · {visible_line(say(title))}')}\n", style="bold")


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
            Text(visible_line(say(task.title))),
            _bar(part),
            Text(f"{earned} / {number(task.points)}"),
            Text(part.share, style="dim"),
        )
    return Padding(table, (0, 0, 0, 2))


def _bar(part: TaskSummary) -> Text:
    task = part.task
    if not task.graded:
        return Text(say("not graded"), style="yellow")
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
    lines += [f"  {contract.number:>3}  {say(contract.says)}" for contract in broken[:SHOWN_BROKEN]]
    return [_block(Text("\n".join(map(visible_line, lines)), style="dim"))] if lines else []


def speed_part(report: Report) -> list[RenderableType]:
    """The measured cases in a table, the GPU in a line; nothing where nothing was measured."""
    cases = speed_cases(report)
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(*(Text(say(head), style="dim") for head in SHORT_HEAD))
    for case in cases:
        style = "yellow" if case.suspicious else ""
        table.add_row(*(Text(visible_line(cell), style=style) for cell in short_row(case)))
    below = [Text(visible_line(line), style="dim") for line in [gpu_line(report)] if line]
    below += [
        Text(labelled("note", visible_line(note)), style="dim") for note in speed_notes(report)
    ]
    shown: list[RenderableType] = [table] if cases else []
    return [_block(Group(*shown, *below))] if shown or below else []


def _notice(notice: Notice) -> Padding:
    shown = Text()
    shown.append(
        labelled(notice.level, ""), style="bold yellow" if notice.level is Level.WARNING else "bold"
    )
    shown.append(visible(notice.text))
    if notice.hint:
        shown.append(f"\n{labelled('hint', notice.hint)}", style="dim")
    return _block(shown)


def _block(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 1, 2), expand=False)


def _failures(report: Report, parts: Sequence[TaskSummary]) -> list[Padding]:
    """Explain each failure, and once what a rule says of several tasks."""
    alike: dict[tuple[str, str], list[TaskSummary]] = {}
    for part in parts:
        assert part.first is not None
        told = part.first.message if part.first.suite == RULES else ""
        alike.setdefault((told, "" if told else part.task.id), []).append(part)
    return [_failure(report, same) for same in alike.values()]


def _failure(report: Report, parts: Sequence[TaskSummary]) -> Padding:
    """Explain the failure of the first of some tasks that have it in common."""
    part, test = parts[0], parts[0].first
    assert test is not None
    shown = Text(", ".join(visible_line(each.task.id) for each in parts), style="bold red")
    shown.append(
        f" · {visible_line(test.id)} · {say(SHOWN_AS[test.verdict])}", style="not bold dim"
    )
    origin = origin_line(report, part)
    if origin:
        shown.append(f"\n  {visible_line(origin)}", style="not bold")
    contract = contract_line(report, test)
    if contract:
        shown.append(f"\n  {visible_line(contract)}", style="not bold")
    body = Padding(Text(visible(message_of(report, test), MESSAGE)), (0, 0, 0, 2))
    # A rule says itself what to do.
    hint = (
        []
        if test.suite == RULES
        else [Text(f"  {labelled('hint', hint_command(report, part))}", style="dim")]
    )
    return _block(Group(shown, body, *_printed(test), *_others(part), *hint))


def _others(part: TaskSummary) -> list[Text]:
    """Name what broke of other contracts, a line each."""
    lines = [
        say(
            f"contract {test.contract}, {test.id}: {say(SHOWN_AS[test.verdict])}, {say(gist(test))}"
        )
        for test in part.others[:SHOWN_OTHERS]
    ]
    left = len(part.others) - len(lines)
    if left:
        lines.append(say(f"and {left} more contracts" if left > 1 else "and one more contract"))
    return [Text(f"  {labelled('also', visible_line(line, OTHER))}", style="dim") for line in lines]


def _printed(test: TestResult) -> list[Padding]:
    if not test.output.strip():
        return []
    said = labelled("it printed", visible(test.output.strip(), PRINTED))
    text = Text(said, style="dim")
    return [Padding(text, (0, 0, 0, 2))]


def _welcome(report: Report, part: TaskSummary, guide: Guide | None) -> Padding:
    """The report of an untouched stub: not a list of failures but the first step."""
    shown = Text()
    shown.append(say("Nothing written yet, and that is where everyone starts."), style="bold")
    points = number(part.task.points)
    alone = f" TASK={visible_line(part.task.id)}" if guide and is_alone(report, guide) else ""
    steps = (
        say(f"1. read   {handout_of(guide)}"),
        say(f"2. open   {stub_of(guide)}"),
        say(f"3. write  {names_of(part, guide)} for {points} points"),
        say(f"4. run    {grade_command(report, guide)}{alone}"),
    )
    shown.append("".join(["\n\n", *(f"  {step}\n" for step in steps), "\n"]))
    shown.append(say(f"Stuck? {hint_command(report, part)}"), style="dim")
    return _block(shown)


def _next_step(report: Report, lost: Sequence[TaskSummary], guide: Guide | None) -> RenderableType:
    shown = Text()
    shown.append(labelled("next", ""), style="bold")
    shown.append(next_step(report, lost, guide))
    return Group(_block(shown), *_again(report, lost, guide))


def _again(
    report: Report, lost: Sequence[TaskSummary], guide: Guide | None
) -> list[RenderableType]:
    """Say which seed drew the inputs: the same one draws them again."""
    seed = report.provenance.get("seed")
    if not isinstance(seed, int):
        return []
    text = say(f"seed {seed}; the same inputs again: {grade_command(report, guide)} SEED={seed}")
    lines = [text, *repeat_lines(report, lost, guide)]
    return [_block(Text("\n".join(lines), style="dim"))]
