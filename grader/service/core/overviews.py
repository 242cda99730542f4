"""What a class did in each lab, counted anew only where something of it is new.

Counting reads every report that counts, which takes seconds for a large class.
"""

import threading
from collections.abc import Hashable

from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.overview import Overview, overview


class Overviews:
    """The newest of each lab, with what it was counted from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Hashable, Overview]] = {}

    def of(self, book: Gradebook, lab: str) -> Overview:
        """Return what the class did in a lab of the gradebook."""
        content = _content(book, lab)
        with self._lock:
            known = self._known.get(lab)
            if known is None or known[0] != content:
                known = self._known[lab] = (content, overview(book, lab))
            return known[1]


def _content(book: Gradebook, lab: str) -> Hashable:
    """Return all that an overview depends on: attempts are never changed."""
    marks = [book.marks[student.id, lab] for student in book.students]
    return (
        tuple((mark.student, mark.points) for mark in marks),
        tuple((a.run, a.student, a.commit, a.graded) for m in marks if (a := m.attempt)),
        tuple(item for item in book.likenesses if item.lab == lab),
    )
