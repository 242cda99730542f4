"""A course of the demo lab with one remote for all, and a collection of it that keeps nothing."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stand_ins.remotes import Remote

from grader.course.config import Course
from grader.course.database.records import Student
from grader.course.grading.collecting.collect import Collected, Collection, collect_class
from grader.course.grading.collecting.fetch import Bounds
from grader.labs.lab import load_lab

LAB = load_lab(Path(__file__).parents[1] / "demo" / "labs" / "90_echo")
DUE = datetime(2026, 10, 1, 22, tzinfo=UTC)
HOUR = timedelta(hours=1)
CODE = "90_echo/echo.py"
ADA = Student("ada", "Ada", "", "student/ada")
BOB = Student("bob", "Bob", "", "student/bob")


def course(host: Remote, /, **changes: object) -> Course:
    folder = host.folder.parent / "course"
    folder.mkdir(exist_ok=True)
    fields: dict[str, object] = {
        "folder": folder,
        "title": "T",
        "roster": folder / "roster.csv",
        "remote": str(host.folder),
        "deadlines": {90: DUE},
    }
    return Course(**(fields | changes))  # type: ignore[arg-type]


def collect(
    of: Course,
    *students: Student,
    now: datetime = DUE + HOUR,
    earlier: Sequence[Mapping[str, Collected]] = (),
    late: bool = False,
    refresh: bool = False,
    bounds: Bounds | None = None,
) -> dict[str, Collected]:
    found: dict[str, Collected] = {}
    collect_class(
        Collection(of, LAB, now, late, refresh, bounds or Bounds(seconds=20)),
        students,
        [frozen for found in earlier for item in found.values() for frozen in item.records],
        2,
        lambda item: found.__setitem__(item.student.id, item),
    )
    return found
