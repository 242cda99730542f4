"""A report as Markdown, for a comment on a pull request or a file next to the submission.

Text of the student stands only inside fences that are longer than any run of backticks in it;
identifiers are escaped, so they can neither format nor mention nor link anything.
"""

import html
import re
from collections.abc import Iterable

from grader.labs.results import Report
from grader.languages.language import labelled, say, word
from grader.report.facts.contracts import contract_line, contract_lines, message_of
from grader.report.facts.measured import speed_cases
from grader.report.facts.notices import notices
from grader.report.facts.origins import origin_line
from grader.report.facts.speed import (
    HEAD,
    RATIO_MEANS,
    gpu_line,
    row,
    speed_notes,
    suspicions,
)
from grader.report.facts.summary import SHOWN_AS, TaskSummary, ahead, score_line, summarize
from grader.text import number, visible, visible_line

MESSAGE = 2000
HEADS = (word("task"), word("points"), word("tests"))
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#+!|~@:-])")


def render_markdown(report: Report) -> str:
    """The report as GitHub-flavoured Markdown."""
    parts = summarize(report)
    lines = [f"# {_title(report)}", ""]
    lines += [f"**{plain(score_line(report))}**", ""]
    for notice in (*notices(report), *suspicions(report)):
        hint = f" {labelled('Hint', plain(notice.hint))}." if notice.hint else ""
        level = labelled(notice.level, "").strip()
        lines += [f"> **{level}** {plain(notice.text)}{hint}", ""]
    lines += [_cells(map(say, HEADS)), "| --- | ---: | --- |"]
    lines += [_row(part) for part in parts]
    lines += [f"\n{plain(line)}" for line in contract_lines(report)]
    lines += _speed(report)
    for part in parts:
        if part.begun:
            lines += _failure(report, part)
    for line in ahead(parts):
        lines += ["", plain(line)]
    return "\n".join([*lines, "", *_provenance(report), ""])


def _title(report: Report) -> str:
    return plain(say(f"Lab {report.lab:02d} · {report.topic}"))


def plain(text: str) -> str:
    """Text on one line, in which Markdown reads nothing."""
    # html.escape first: it adds no character that Markdown reads; "&" cannot begin an entity.
    escaped = html.escape(visible_line(text), quote=False)
    return _PUNCTUATION.sub(r"\\\1", escaped)


def _row(part: TaskSummary) -> str:
    task = part.task
    earned = number(task.score) if task.graded else say("not graded")
    name = f"{plain(task.id)}: {plain(say(task.title))}"
    return f"| {name} | {earned} / {number(task.points)} | {plain(part.share)} |"


def _speed(report: Report) -> list[str]:
    cases = speed_cases(report)
    line = gpu_line(report)
    lines = ["", f"## {say('Speed')}", ""] if cases or line else []
    if cases:
        lines += [
            _cells(plain(say(name)) for name in HEAD),
            _cells(["---", "---", *["---:"] * 4, "---"]),
        ]
        lines += [_cells(map(plain, row(case))) for case in cases]
        lines += ["", plain(say(RATIO_MEANS)), ""]
    remarks = ((f"GPU: {line}",) if line else ()) + speed_notes(report)
    return [*lines, *(f"- {plain(remark)}" for remark in remarks)]


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _failure(report: Report, part: TaskSummary) -> list[str]:
    test = part.first
    assert test is not None
    lines = ["", f"## {plain(part.task.id)}: {say(SHOWN_AS[test.verdict])}", "", plain(test.id), ""]
    for line in (contract_line(report, test), origin_line(report, part)):
        lines += [plain(line), ""] if line else []
    lines += _fenced(message_of(report, test))
    if test.output.strip():
        lines += ["", say("It printed:"), "", *_fenced(test.output.strip())]
    command = f"make hint LAB={report.lab} TASK={plain(part.task.id)}"
    return [*lines, "", labelled("Hint", command)]


def _fenced(text: str) -> list[str]:
    shown = visible(text, MESSAGE)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", shown, fence]


def _provenance(report: Report) -> list[str]:
    return [f"- {plain(str(key))}: {plain(str(v))}" for key, v in report.provenance.items()]
