"""Points of tasks that people give: what they make of a grading, which itself never changes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.course.database.records import Attempt, Correction
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.manual import PEOPLE, READ, WAITING
from grader.labs.results import Report
from grader.report.facts.stored import report_of
from grader.text import moment_text, number, visible_line

NONE = "none"  # instead of points: takes them back


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a grading is worth with what people said, and what they said."""

    points: float
    possible: float
    said: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()  # tasks without points, of work that people alone grade
    tasks: int = 0  # of such work

    @property
    def waits(self) -> str:
        """Say what work waits for that is not read, or not to its end; "" of any other."""
        if not self.unread:
            return ""
        begun = self.tasks - len(self.unread)
        return f"{WAITING}: {begun} of {self.tasks} tasks have points" if begun else WAITING


def holding(corrections: Iterable[Correction], commit: str) -> list[Correction]:
    """Return what holds of a work, task by task; they come in the order of their recording."""
    newest = {each.task: each for each in corrections if each.commit == commit}
    return [each for each in newest.values() if each.points is not None]


def corrected(attempt: Attempt, corrections: Sequence[Correction]) -> Corrected:
    """Put the points that people gave in place of the machine's, task by task.

    They hold through regrades of the same work; what is said tells of a later grading. Work that
    people alone grade is worth nothing yet while one of its tasks is ``unread``.
    """
    held, by_people = holding(corrections, attempt.commit), attempt.suite == PEOPLE
    if not held and not by_people:
        return Corrected(attempt.points, attempt.possible)
    tasks = {task.id: task for task in report_of(attempt.report).tasks}
    points, possible, told = attempt.points, attempt.possible, list[str]()
    for word in held:
        task, given = tasks.get(word.task), word.points or 0.0
        if task is None:
            told.append(
                f"{visible_line(word.task)}, which this grading has no more, does not count"
            )
            continue
        points += given - (task.score if task.graded else 0.0)
        possible += 0.0 if task.graded else task.points
        of = f"{word.task} set to {number(given)} of {number(task.points)}"
        again = "" if by_people or word.is_of(attempt) else ", before it was graded again"
        told.append(f"{of} {by(word)}{again}")
    worth = round(points, 4), round(possible, 4), tuple(told)
    if not by_people:
        return Corrected(*worth)
    read = {word.task for word in held}
    return Corrected(*worth, tuple(name for name in tasks if name not in read), len(tasks))


def as_read(attempt: Attempt, corrections: Sequence[Correction]) -> Report:
    """Return the report of a grading; of work that people alone grade, with their points."""
    report = report_of(attempt.report)
    if attempt.suite != PEOPLE:
        return report
    held = holding(of_work(corrections, attempt), attempt.commit)
    given = {word.task: word.points or 0.0 for word in held}
    tasks = tuple(
        replace(task, score=given[task.id], graded=True) if task.id in given else task
        for task in report.tasks
    )
    status = corrected(attempt, held).waits or READ
    return replace(report, tasks=tasks, extras=report.extras | {"status": status})


def of_work(corrections: Iterable[Correction], attempt: Attempt) -> list[Correction]:
    """Return what was said of a student's work in a lab: one commit may hold several labs."""
    key = attempt.student, attempt.lab, attempt.commit
    return [word for word in corrections if (word.student, word.lab, word.commit) == key]


def by(word: Correction) -> str:
    """Say who gave points, when and why."""
    author, reason = visible_line(word.author), visible_line(word.reason)
    return f"by {author} on {moment_text(word.made)}: {reason}"


def checked_points(lab: Lab, task: str, text: str) -> float | None:
    """Return the points of a task as typed; "none" or nothing takes them back.

    Raises UsageError.
    """
    most = lab.task(task).points
    if text.strip() in ("", NONE):
        return None
    return points_of(text, most, f"the task {task}")


def points_of(text: str, most: float, what: str) -> float:
    """Read points from 0 to ``most``; raises UsageError."""
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not 0 <= points <= most:
        told = f"{visible_line(text.strip(), 40)!r} are no points of {what}"
        raise UsageError(told, f"a number from 0 to {number(most)}")
    return points
