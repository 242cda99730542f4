"""What the rules need of what people say when they read. Each method is one transaction."""

from collections.abc import Callable, Sequence
from typing import Protocol

from grader.course.database.records import Comment, Correction, Score, Seen

Settle = Callable[[Sequence[Score]], Sequence[Correction]]


class Reading(Protocol):
    """Comments, points by hand, scores of rubrics, and who has read what: rows that only grow.

    Whatever is said of a student who is not known raises ``StoreError``.
    """

    def add_comment(self, comment: Comment) -> int:
        """Record a comment, or one that takes a comment back; return its number."""
        ...

    def comments(self, lab: str | None = None, student: str | None = None) -> list[Comment]:
        """List what was said, and what was taken back, oldest first."""
        ...

    def add_correction(self, correction: Correction) -> None:
        """Record the points of a task that somebody gave, or took back."""
        ...

    def corrections(self, student: str | None = None) -> list[Correction]:
        """List points that people gave, oldest first."""
        ...

    def add_scores(self, scores: Sequence[Score], settle: Settle) -> None:
        """Record scores of one work, and the points that its scores then make, in one.

        ``settle`` is given all scores of that work, while nobody can add to them.
        """
        ...

    def scores(self, lab: str, student: str | None = None) -> list[Score]:
        """List the scores of a lab, oldest first."""
        ...

    def add_seen(self, seen: Seen) -> None:
        """Record that somebody has read work."""
        ...

    def seen(self, lab: str) -> list[Seen]:
        """List who has read what of a lab, oldest first."""
        ...
