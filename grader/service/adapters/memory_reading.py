"""What people say when they read, in lists: the tests' double of the tables."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from grader.course.database.records import Attempt, Comment, Correction, Score, Seen, Student
from grader.errors import StoreError
from grader.service.ports.reading import Settle


class MemoryReading:
    """Implements ``ports.reading.Reading`` under the lock of its store."""

    def __init__(
        self,
        lock: AbstractContextManager[object],
        students: Sequence[Student],
        attempts: Callable[[str, str], Sequence[Attempt]],
    ) -> None:
        self._lock = lock
        self._students = students
        self._attempts = attempts  # of a lab and a student
        self._comments: list[Comment] = []
        self._corrections: list[Correction] = []
        self._scores: list[Score] = []
        self._seen: list[Seen] = []

    def add_comment(self, comment: Comment) -> int:
        """Record a comment, or one that takes a comment back; return its number."""
        with self._lock:
            self._check(comment.student)
            number = len(self._comments) + 1
            self._comments.append(replace(comment, number=number))
            return number

    def comments(self, lab: str | None = None, student: str | None = None) -> list[Comment]:
        """List what was said, and what was taken back, oldest first."""
        with self._lock:
            found = [each for each in self._comments if lab in (None, each.lab)]
            return [each for each in found if student in (None, each.student)]

    def add_correction(self, correction: Correction) -> None:
        """Record the points of a task that somebody gave, or took back."""
        with self._lock:
            self._check(correction.student)
            self._correct([correction])

    def corrections(self, student: str | None = None) -> list[Correction]:
        """List points that people gave, oldest first."""
        with self._lock:
            return [each for each in self._corrections if student in (None, each.student)]

    def add_scores(self, scores: Sequence[Score], settle: Settle) -> None:
        """Record scores of one work, and the points that its scores then make, in one."""
        with self._lock:
            first = scores[0]
            self._check(first.student)
            before = [*self._scores]
            self._scores += scores
            own = [each for each in self._scores if _work(each) == _work(first)]
            try:
                self._correct(settle(own))
            except BaseException:
                self._scores = before
                raise

    def scores(self, lab: str, student: str | None = None) -> list[Score]:
        """List the scores of a lab, oldest first."""
        with self._lock:
            found = [each for each in self._scores if each.lab == lab]
            return [each for each in found if student in (None, each.student)]

    def add_seen(self, seen: Seen) -> None:
        """Record that somebody has read work."""
        with self._lock:
            self._check(seen.student)
            self._seen.append(seen)

    def seen(self, lab: str) -> list[Seen]:
        """List who has read what of a lab, oldest first."""
        with self._lock:
            return [each for each in self._seen if each.lab == lab]

    def _correct(self, corrections: Sequence[Correction]) -> None:
        for word in corrections:
            own = self._attempts(word.lab, word.student)
            after = max((each.row or 0 for each in own if each.commit == word.commit), default=0)
            self._corrections.append(replace(word, after=after or None))

    def _check(self, student: str) -> None:
        if student not in {each.id for each in self._students}:
            raise StoreError(f"no student {student!r} is known")


def _work(score: Score) -> tuple[str, str, str]:
    return score.student, score.lab, score.commit
