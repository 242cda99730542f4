"""The roster, read anew when the service starts and when tokens are made."""

import sys

from grader.course.config import Course
from grader.course.database.store import Store
from grader.course.grading.collecting.roster import read_roster
from grader.errors import UsageError
from grader.text import visible_line


def take_roster(course: Course, store: Store) -> None:
    """Take the course's roster into the database; raises UsageError if a row cannot be used."""
    found = read_roster(
        course.roster, course.remote, course.branch, by_git=False, together=course.is_team
    )
    for problem in found.problems:
        print(f"error: {course.roster.name}, {visible_line(problem)}", file=sys.stderr)
    if found.problems:
        told = f"{len(found.problems)} rows of {course.roster.name} cannot be used"
        raise UsageError(told, "correct them and run this again")
    store.put_students(found.students)
