"""A course of three with the service's desk, and a clock that tests set."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader.course.config import Course
from grader.course.database.records import Student
from grader.course.policy import ServicePolicy
from grader.labs.lab import Lab, all_labs, find_root
from grader.service.adapters.memory import MemoryStore
from grader.service.core.desk import Desk
from grader.service.domain.records import HandIn, Origin, Role, Who

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
STUDENTS = [Student(id, id.title(), "", f"student/{id}") for id in ("ada", "bob", "eve")]
LABS = [lab for lab in all_labs(find_root()) if lab.number in (2, 3)]


@dataclass
class SetClock:
    """Tells the time that it was given."""

    moment: datetime = NOON

    def now(self) -> datetime:
        """Return that moment."""
        return self.moment

    def after(self, **more: float) -> None:
        """Let time pass."""
        self.moment += timedelta(**more)


@dataclass
class Classroom:
    """A desk with all that it stands on."""

    folder: Path
    clock: SetClock = field(default_factory=SetClock)
    store: MemoryStore = field(default_factory=lambda: MemoryStore(STUDENTS))
    labs: Sequence[Lab] = field(default_factory=lambda: LABS)
    course: Course = field(init=False)
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        self.set(ServicePolicy())

    def set(self, policy: ServicePolicy, **more: object) -> None:
        """Give the course a policy, and other keys."""
        course = Course(self.folder, "Inference", self.folder / "roster.csv", service=policy)
        self.course = replace(course, **more)  # type: ignore[arg-type]
        self.desk = Desk(self.course, self.labs, self.store, self.clock)

    def hand_in(self, who: str = "ada", lab: int = 2, code: bytes = b"x = 1\n") -> HandIn:
        """Hand in the code of a lab."""
        found = self.desk.lab(str(lab))
        files = {found.code_name: code, "PSEUDOCODE.md": b"# Pseudocode\n"}
        return self.desk.take(Who(who, Role.STUDENT), found, files, Origin.TERMINAL)
