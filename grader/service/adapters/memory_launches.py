"""What is kept of a learning platform, in the store without a disk."""

import threading
from dataclasses import replace
from datetime import datetime

from grader.service.domain.platforms import Context, Sent


class MemoryPlatforms:
    """Implements ``ports.launches.Platforms``."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._contexts: dict[tuple[str, str], Context] = {}
        self._sent: list[Sent] = []

    def note_context(self, context: Context) -> None:
        """Note a course there; an address that is empty leaves the one that was known."""
        with self._lock:
            key = (context.deployment, context.id)
            old = self._contexts.get(key, context)
            self._contexts[key] = replace(
                context,
                members=context.members or old.members,
                items=context.items or old.items,
            )

    def contexts(self) -> list[Context]:
        """List the courses there, by deployment and id."""
        with self._lock:
            return [self._contexts[key] for key in sorted(self._contexts)]

    def begin_sending(self, mark: Sent) -> None:
        """Note a mark before it goes."""
        with self._lock:
            self._sent.append(mark)

    def end_sending(self, student: str, lab: str, made: datetime) -> None:
        """Note that it arrived."""
        with self._lock:
            self._sent = [
                replace(s, done=True) if (s.student, s.lab, s.made) == (student, lab, made) else s
                for s in self._sent
            ]

    def sent(self, student: str, lab: str) -> Sent | None:
        """Return the newest mark of a student and lab that was on its way; None: there is none."""
        with self._lock:
            own = [mark for mark in self._sent if (mark.student, mark.lab) == (student, lab)]
            return own[-1] if own else None
