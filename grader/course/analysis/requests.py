"""What came of a request: old, new, and where the new is still to come."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.course.database.giving.records import Asked
from grader.course.database.records import Attempt, Kind
from grader.report.facts.stored import report_of
from grader.text import number

GRADED_AGAIN = "it is graded again; what comes of it stands here once it counts"
DISCARDED = "it was graded again, and that grading does not count"
ON_TRIAL = "graded again, and to be decided: it counts once the regrade is published"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request changed: what of, old and new; ``note`` says what else there is to know."""

    changes: tuple[tuple[str, str, str], ...] = ()
    note: str = ""


def outcome(
    asked: Asked, attempts: Iterable[Attempt], kinds: Iterable[Kind], *, is_staff: bool
) -> Outcome:
    """Tell what came of a request from the attempts of its regrade and what was said of that.

    To a student what a regrade found is told once it counts.
    """
    answer = asked.answer
    if answer is None:
        return Outcome()
    if answer.after is not None:
        return Outcome((("mark", _shown(answer.before), _shown(answer.after)),))
    if answer.run is None:
        return Outcome()
    said = {*kinds}
    if Kind.DISCARDED in said:
        return Outcome(note=DISCARDED)
    counts = Kind.PUBLISHED in said
    commit = asked.request.commit
    found = [each for each in attempts if each.commit == commit and not each.infra]
    if not found or not (counts or is_staff):
        return Outcome(note=GRADED_AGAIN)
    return Outcome(_changes(asked, found[-1]), "" if counts else ON_TRIAL)


def _changes(asked: Asked, new: Attempt) -> tuple[tuple[str, str, str], ...]:
    request = asked.request
    scores = {task.id: task.score for task in report_of(new.report).tasks}
    task = (request.task, number(request.task_points), _shown(scores.get(request.task)))
    return task, ("the attempt", number(request.points), number(new.points))


def _shown(points: float | None) -> str:
    return "-" if points is None else number(points)
