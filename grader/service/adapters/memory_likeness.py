"""Answers that are alike, in the store without a disk."""

from threading import RLock

from grader.course.likeness.notes import Kept, Note


class MemoryLikenesses:
    """Implements ``ports.likeness.Likenesses``."""

    def __init__(self, lock: RLock) -> None:
        self._lock = lock
        self._found: dict[str, Kept] = {}
        self._notes: list[Note] = []

    def put(self, found: Kept) -> None:
        """Let a comparison take the place of the one of its lab before."""
        with self._lock:
            self._found[found.lab] = found

    def comparison(self, lab: str) -> Kept | None:
        """Return the newest comparison of a lab; None if there is none."""
        with self._lock:
            return self._found.get(lab)

    def add_note(self, note: Note) -> None:
        """Record a person's word on answers that are alike."""
        with self._lock:
            self._notes.append(note)

    def notes(self, lab: str) -> list[Note]:
        """List what was said of a lab's answers, oldest first."""
        with self._lock:
            return [note for note in self._notes if note.lab == lab]
