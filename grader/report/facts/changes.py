"""What came of a lab since it was last graded, for one who works on it: a few lines."""

from collections.abc import Iterator, Sequence

from grader.labs.results import Report, Verdict
from grader.languages.language import say
from grader.report.facts.summary import AT_FAULT, TaskSummary, summarize
from grader.text import number, visible_line

SHOWN = 3  # names of tests


def changes(before: Report, after: Report) -> list[str]:
    """Say which tasks gained or lost, which tests fail that passed, and what is next."""
    old = {part.task.id: part for part in summarize(before)}
    pairs = [(old[part.task.id], part) for part in summarize(after) if part.task.id in old]
    lines = [line for was, part in pairs for line in _of_task(was, part)]
    if not lines:
        return [say("since the last save: nothing changed")]
    return [say("since the last save:"), *(f"  {line}" for line in lines), *_goal(pairs)]


def _of_task(was: TaskSummary, part: TaskSummary) -> Iterator[str]:
    name = visible_line(part.task.id)
    passed, before = (item.counts.get(Verdict.PASSED, 0) for item in (part, was))
    if passed != before or part.task.score != was.task.score:
        points = f"{number(was.task.score)} → {number(part.task.score)}"
        told = say(f"{name}: {points} of {number(part.task.points)} points")
        yield say(f"{told}, {before} → {passed} of {sum(part.counts.values())} tests")
    held = {test.id for test in was.tests if test.verdict is Verdict.PASSED}
    broken = [test.id for test in part.tests if test.id in held and test.verdict in AT_FAULT]
    if broken:
        more = say(f" and {len(broken) - SHOWN} more") if len(broken) > SHOWN else ""
        names = ", ".join(map(visible_line, broken[:SHOWN]))
        yield say(f"{name}: passed before and fails now: {names}{more}")


def _goal(pairs: Sequence[tuple[TaskSummary, TaskSummary]]) -> Iterator[str]:
    """Name the task that is done now, and the one to go on with."""
    done = [part.task.id for was, part in pairs if was.lost and not part.lost and part.task.graded]
    left = [part.task.id for _, part in pairs if part.lost and not part.waiting]
    if done:
        goal = say(f"; next: {visible_line(left[0])}") if left else ""
        yield say(f"done: {', '.join(map(visible_line, done))}{goal}")
