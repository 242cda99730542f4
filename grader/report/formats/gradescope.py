"""A report as Gradescope's ``results.json``: one entry per task.

The format is that of gradescope-autograders.readthedocs.io/en/latest/specs. Every text is sent as
``text``, so the page draws it and interprets nothing.
"""

from typing import Any

from grader.labs.results import Report
from grader.report.facts.contracts import contract_line
from grader.report.facts.notices import notices
from grader.report.facts.speed import suspicions
from grader.report.facts.summary import SHOWN_AS, TaskSummary, score_line, summarize
from grader.text import encodable, number, visible, visible_line


def render_gradescope(report: Report) -> dict[str, Any]:
    """The report as JSON-ready data; seconds are whole, as the format asks."""
    said = [score_line(report)]
    said += [f"{notice.level}: {visible(notice.text)}" for notice in notices(report)]
    said += [f"{item.level}: {visible(item.text)} {item.hint}" for item in suspicions(report)]
    return {
        "score": report.score,
        "execution_time": round(sum(test.seconds for test in report.tests)),
        "output": "\n".join(said),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            _entry(report, part, index) for index, part in enumerate(summarize(report), start=1)
        ],
        "extra_data": encodable(_extra(report)),
    }


def _entry(report: Report, part: TaskSummary, index: int) -> dict[str, Any]:
    task = part.task
    entry: dict[str, Any] = {
        "name": f"{visible_line(task.id)}: {visible_line(task.title)}",
        "name_format": "text",
        "number": str(index),
        "score": task.score,
        # What this machine cannot judge leaves the denominator here too.
        "max_score": task.points if task.graded else 0,
        "output": _output(report, part),
        "output_format": "text",
        "visibility": "visible",
    }
    if task.graded:
        entry["status"] = "failed" if part.lost else "passed"
    return entry


def _output(report: Report, part: TaskSummary) -> str:
    lines = [part.counted]
    if not part.task.graded:
        lines.append(f"{number(part.task.points)} points not graded: {part.not_graded_because}")
    if part.lost and part.first:
        test = part.first
        lines += ["", f"{visible_line(test.id)}: {SHOWN_AS[test.verdict]}"]
        contract = contract_line(report, test)
        lines += [visible_line(contract)] if contract else []
        lines.append(visible(test.message))
    return "\n".join(lines)


def _extra(report: Report) -> dict[str, Any]:
    data = report.to_json()
    kept = ("schema", "lab", "topic", "score", "graded", "total", "partial", "provenance")
    return {key: data[key] for key in kept}
