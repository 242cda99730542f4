"""Answers that are alike, in the course database."""

from grader.course.database.store import Store
from grader.course.likeness import notes as words
from grader.course.likeness.notes import Kept, Note


class DatabaseLikenesses:
    """Implements ``ports.likeness.Likenesses``."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def put(self, found: Kept) -> None:
        """Let a comparison take the place of the one of its lab before."""
        words.put_comparison(self._course, found)

    def comparison(self, lab: str) -> Kept | None:
        """Return the newest comparison of a lab; None if there is none."""
        return words.comparison(self._course, lab)

    def add_note(self, note: Note) -> None:
        """Record a person's word on answers that are alike."""
        words.add_note(self._course, note)

    def notes(self, lab: str) -> list[Note]:
        """List what was said of a lab's answers, oldest first."""
        return words.notes(self._course, lab)
