"""The whole store, on an open course database."""

from grader.course.database.giving.returns import Returns
from grader.course.database.records import Attempt, Grant, Student
from grader.course.database.store import Store
from grader.course.reading.shelf import Shelf
from grader.service.adapters.database.doors import DatabaseDoors
from grader.service.adapters.database.likeness import DatabaseLikenesses
from grader.service.adapters.database.queue import DatabaseQueue
from grader.service.adapters.database.regradings import DatabaseRegradings


class DatabaseStore(DatabaseQueue, DatabaseDoors):
    """Implements ``ports.store.Store``; whoever opened the course database also closes it."""

    def __init__(self, course: Store) -> None:
        self._course = course
        self._regradings = DatabaseRegradings(course)
        self._returns = Returns(course)
        self._likenesses = DatabaseLikenesses(course)
        self._reading = Shelf(course)

    @property
    def regradings(self) -> DatabaseRegradings:
        """What is graded once more."""
        return self._regradings

    @property
    def returns(self) -> Returns:
        """What goes back to students."""
        return self._returns

    @property
    def alike(self) -> DatabaseLikenesses:
        """Answers that are alike."""
        return self._likenesses

    @property
    def reading(self) -> Shelf:
        """What people say when they read."""
        return self._reading

    def students(self) -> list[Student]:
        """The roster, in its order."""
        return self._course.students()

    def grants(self) -> list[Grant]:
        """Extensions and waivers, in the order in which they were recorded."""
        return self._course.grants()

    def attempts(
        self, lab: str | None = None, student: str | None = None, run: str | None = None
    ) -> list[Attempt]:
        """The attempts that fit, in the order in which they were recorded."""
        return self._course.attempts(lab, student, run)
