"""What a student has in all labs, by the course's own rule: from marks that are there already."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from grader.course.config import Course
from grader.course.gradebook.marks import Mark, lab_number
from grader.course.rules.total import FULL, Standing, Total, total
from grader.course.rules.weights import TotalRule
from grader.labs.manual import WAITING

NOT_DUE = "not due yet"
NO_DEADLINE = "no deadline, and no mark"
NOBODY = "graded for nobody yet"


def totals(
    course: Course,
    marks: Mapping[str, Iterable[Mark]],  # by student
    graded: Collection[str],  # labs of which anybody was graded
    now: datetime,
    others: Collection[int] = (),  # labs of the course of which there are no marks at all
) -> dict[str, Total]:
    """Return each student's total; empty where the course has no rule for one."""
    rule = course.total
    if rule is None:
        return {}
    return {
        student: _total(course, rule, own, graded, now, others) for student, own in marks.items()
    }


def _total(
    course: Course,
    rule: TotalRule,
    marks: Iterable[Mark],
    graded: Collection[str],
    now: datetime,
    others: Collection[int],
) -> Total:
    found = [_standing(course, mark, mark.lab in graded, now) for mark in marks]
    found += [Standing(lab, None, left_out=NOBODY) for lab in others]
    return total(found, rule)


def _standing(course: Course, mark: Mark, is_graded: bool, now: datetime) -> Standing:
    number = lab_number(mark.lab)
    if mark.points is not None:
        # A person's word is of all points, whatever the machine could judge.
        return Standing(number, mark.points, FULL if mark.override else mark.possible)
    deadline = course.deadline(mark.student, number)
    if mark.is_unread:
        why = WAITING
    elif deadline is None:
        why = NO_DEADLINE
    elif now <= deadline:
        why = NOT_DUE
    else:
        why = "" if is_graded else NOBODY
    return Standing(number, None, left_out=why)
