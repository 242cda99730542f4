"""What the pages need of a store about answers that are alike."""

from typing import Protocol

from grader.course.likeness.notes import Kept, Note


class Likenesses(Protocol):
    """The newest comparison of each lab, and notes, which only grow."""

    def put(self, found: Kept) -> None:
        """Let a comparison take the place of the one of its lab before."""
        ...

    def comparison(self, lab: str) -> Kept | None:
        """Return the newest comparison of a lab; None if there is none."""
        ...

    def add_note(self, note: Note) -> None:
        """Record a person's word on answers that are alike."""
        ...

    def notes(self, lab: str) -> list[Note]:
        """List what was said of a lab's answers, oldest first."""
        ...
