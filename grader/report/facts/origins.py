"""Where a failure may come from: a task whose functions the code of another's calls."""

from grader.labs.results import Report, State
from grader.languages.language import say
from grader.report.facts.contracts import numbers_text, of_state
from grader.report.facts.measured import listed, table_of, text_of
from grader.report.facts.summary import TaskSummary, summarize

BUILDS_ON = "builds_on"  # of a report's extras: public function -> tasks that its code reaches


def origin_line(report: Report, part: TaskSummary) -> str:
    """Name the tasks that a failure builds on and that have failed too; "" if there is none."""
    told = [_told(report, other) for other in origins(report, part)]
    if not told:
        return ""
    if len(told) == 1:
        return say(f"it builds on {told[0]}, which is broken too: mend that first")
    names = say(" and ").join(told)
    return say(f"it builds on {names}, which are broken too: mend those first")


def origins(report: Report, part: TaskSummary) -> list[TaskSummary]:
    """Return the tasks that lost points by what was written and that the failure builds on."""
    function = part.first.function if part.first else ""
    below = table_of(report.extras.get(BUILDS_ON)).get(function)
    names = {text_of(name) for name in listed(below)}
    return [other for other in summarize(report) if other.task.id in names and other.begun]


def _told(report: Report, part: TaskSummary) -> str:
    broken = [c.number for c in of_state(report, State.BROKEN) if c.task == part.task.id]
    if not broken:
        return part.task.id
    if len(broken) == 1:
        return say(f"{part.task.id} (contract {broken[0]})")
    return say(f"{part.task.id} (contracts {numbers_text(broken)})")
