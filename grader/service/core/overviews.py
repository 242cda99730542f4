"""What a class did in each lab, counted anew only where something of it is new.

Counting reads every report that counts, which takes seconds for a large class.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from grader.course.analysis.understanding import Understanding, understanding
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.overview import Overview, overview

Count = TypeVar("Count")


class Overviews:
    """The newest of each lab."""

    def __init__(self) -> None:
        self._overviews = _Newest[Overview]()
        self._understandings = _Newest[Understanding]()

    def of(self, book: Gradebook, lab: str) -> Overview:
        """Return what the class did in a lab of the gradebook."""
        return self._overviews.of(book, lab, lambda: overview(book, lab))

    def understanding(self, book: Gradebook, lab: str) -> Understanding:
        """Return what the class understood of a lab of the gradebook, and did not."""
        return self._understandings.of(book, lab, lambda: understanding(book, lab))


class _Newest(Generic[Count]):
    """One count of each lab, with what it was counted from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Hashable, Count]] = {}

    def of(self, book: Gradebook, lab: str, count: Callable[[], Count]) -> Count:
        content = _content(book, lab)
        with self._lock:
            known = self._known.get(lab)
            if known is None or known[0] != content:
                known = self._known[lab] = (content, count())
            return known[1]


def _content(book: Gradebook, lab: str) -> Hashable:
    """Return all that a count depends on: attempts are never changed."""
    marks = [book.marks[student.id, lab] for student in book.students]
    return (
        tuple((mark.student, mark.points) for mark in marks),
        tuple((a.run, a.student, a.commit, a.graded) for m in marks if (a := m.attempt)),
        tuple(len(book.attempts.get((student.id, lab), ())) for student in book.students),
        tuple(item for item in book.likenesses if item.lab == lab),
    )
