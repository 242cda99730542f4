"""A report as the output of a cell: one task, or all; HTML with styles of its own, and plain text.

Colour says nothing that a word or a sign does not. Text of a submission goes through
``grader/text.py`` and is escaped; a message has a limit, so that no cell floods a page.
"""

import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.labs.lab import Lab
from grader.labs.results import ContractResult, Report, State
from grader.languages.language import labelled, of_locale, say, speaking
from grader.report.facts.contracts import contract_line, message_of
from grader.report.facts.next_step import guide_to, next_step
from grader.report.facts.notices import notices
from grader.report.facts.origins import origin_line
from grader.report.facts.summary import SHOWN_AS, TaskSummary, score_line, summarize
from grader.report.formats.terminal import make_console, render_terminal
from grader.report.markup.heatmap import difference_of
from grader.report.markup.web import escaped
from grader.text import number, visible

MESSAGE = 1500  # characters of a message
PRINTED = 300
MOST_FAILURES = 3  # that are shown whole, of a lab
MOST_BROKEN = 6
_BOX = "border-left:.3rem solid {};padding:.2rem .8rem;margin:.3rem 0;line-height:1.5"
_PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid #8886;"
    "padding:.5rem;margin:.4rem 0"
)
_GOOD, _BAD, _MILD = "#1a7f37", "#b3261e", "#8a5a00"
_CELL = "text-align:left;padding:.15rem .8rem .15rem 0"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A report to be shown; ``task`` is the one that was asked for, "" is all of the lab."""

    lab: Lab
    report: Report
    task: str = ""
    remarks: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        # A kernel runs each cell in a context of its own.
        with speaking(of_locale()):
            return self._html()

    def _html(self) -> str:
        parts = summarize(self.report)
        lost = [part for part in parts if part.lost]
        body = [self._headline(parts), *_remarks(self.remarks)]
        if not self.task:
            body.append(_table(parts))
        else:
            body += [f'<p style="margin:0">{escaped(line)}</p>' for line in _counted(self.report)]
        begun = [part for part in lost if part.begun]
        body += [_failure(self.report, part) for part in begun[:MOST_FAILURES]]
        body += _remarks(notice.text for notice in notices(self.report))
        body.append(
            f'<p style="margin:.4rem 0"><b>{labelled("next", "")}</b> {self._next(parts, lost)}</p>'
        )
        color = _GOOD if self._is_full(parts) else _BAD if lost else _MILD
        return f'<div style="{_BOX.format(color)}">{"".join(body)}</div>'

    def __repr__(self) -> str:
        stream = io.StringIO()
        with speaking(of_locale()):
            shown = render_terminal(self.report, guide_to(self.lab))
            make_console(stream, plain=True).print(shown)
        return "\n".join([*self.remarks, stream.getvalue().strip("\n")])

    def _headline(self, parts: Sequence[TaskSummary]) -> str:
        full = self._is_full(parts)
        lost = any(p.lost for p in parts)
        sign = say("✓ passed" if full else "✗ not yet" if lost else "not graded")
        name = self.task or say(f"Lab {self.lab.number:02d}, {say(self.lab.title)}")
        text = labelled(f"{sign} · {name}", score_line(self.report))
        return f'<p style="margin:0;font-size:1.15em;font-weight:600">{escaped(text)}</p>'

    def _is_full(self, parts: Sequence[TaskSummary]) -> bool:
        graded = [part for part in parts if part.task.graded]
        return bool(graded) and not any(part.lost for part in graded)

    def _next(self, parts: Sequence[TaskSummary], lost: Sequence[TaskSummary]) -> str:
        if self.task and not lost:
            ids = [task.id for task in self.lab.tasks]
            later = ids[ids.index(self.task) + 1 :]
            return f"<code>%check {later[0]}</code>" if later else "<code>%grade</code>"
        if self.task:
            again = f"<code>%check {escaped(self.task)}</code>"
            stuck = f"<code>%hint {escaped(self.task)}</code>"
            return say(f"change the cell, run it, {again} again; stuck? {stuck}")
        text = next_step(self.report, lost, guide_to(self.lab))
        return "<br>".join(escaped(line) for line in text.splitlines())


def _remarks(lines: Iterable[str]) -> list[str]:
    return [f'<p style="margin:.2rem 0"><small>{escaped(line)}</small></p>' for line in lines]


def _counted(report: Report) -> list[str]:
    """Say how many tests passed and which contracts broke."""
    (part,) = summarize(report) or (None,)
    if part is None:
        return []
    if part.untouched:
        return [say("nothing is written yet")]
    lines = [labelled("tests", part.share)]
    tried = [c for c in report.contracts if c.state is not State.UNTRIED]
    broken = [c for c in tried if c.state is State.BROKEN]
    if tried:
        holding = sum(c.state is State.HOLDS for c in tried)
        lines.append(say(f"{holding} of {len(tried)} contracts tried here hold"))
    return [*lines, *map(_contract, broken[:MOST_BROKEN])]


def _contract(contract: ContractResult) -> str:
    return "✗ " + say(f"contract {contract.number}: {say(contract.says)}")


def _table(parts: Sequence[TaskSummary]) -> str:
    names = ("", say("task"), say("points"), say("tests"))
    head = "".join(f'<th style="{_CELL}">{name}</th>' for name in names)
    rows = "".join(map(_row, parts))
    return f'<table style="border-collapse:collapse;margin:.4rem 0"><tr>{head}</tr>{rows}</table>'


def _row(part: TaskSummary) -> str:
    task = part.task
    sign = "-" if not task.graded else "✗" if part.lost else "✓"
    points = f"{number(task.score) if task.graded else '-'} / {number(task.points)}"
    cells = (sign, labelled(task.id, say(task.title)), points, part.share)
    return "<tr>" + "".join(f'<td style="{_CELL}">{escaped(cell)}</td>' for cell in cells) + "</tr>"


def _failure(report: Report, part: TaskSummary) -> str:
    """The first failure of a task: what was asked, what came, and where a tensor differs."""
    test = part.first
    assert test is not None
    title = f"{part.task.id} · {test.id} · {say(SHOWN_AS[test.verdict])}"
    lines = [f'<p style="margin:.6rem 0 0"><b>{escaped(title)}</b></p>']
    message = message_of(report, test)
    for line in (contract_line(report, test), origin_line(report, part)):
        lines += [f'<p style="margin:.2rem 0">{escaped(line)}</p>'] if line else []
    lines.append(f'<pre style="{_PRE}">{_block(message, MESSAGE)}</pre>')
    difference = difference_of(report, test)
    lines += [difference.html] if difference else []
    if test.output.strip():
        printed = _block(test.output.strip(), PRINTED)
        lines.append(
            f'<p style="margin:0">{say("it printed")}</p><pre style="{_PRE}">{printed}</pre>'
        )
    return "".join(lines)


def _block(text: str, limit: int) -> str:
    return html.escape(visible(text, limit))
