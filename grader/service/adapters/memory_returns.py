"""What goes back to students, in the store without a disk."""

import threading
from collections.abc import Callable
from dataclasses import replace

from grader.course.database.giving.records import Address, Answer, Asked, Hold, Request
from grader.course.database.records import Override
from grader.errors import StoreError


class MemoryReturns:
    """Implements ``ports.requests.Returns``."""

    def __init__(self, lock: threading.RLock, keep: Callable[[Override], None]) -> None:
        self._lock = lock
        self._keep = keep
        self._asked: list[Asked] = []
        self._holds: list[Hold] = []
        self._addresses: dict[str, Address] = {}

    def ask(self, request: Request) -> int | None:
        """Record a request and return its number; None if one of attempt and task is open."""
        with self._lock:
            if _place(request) in {_place(each.request) for each in self.asked(is_open=True)}:
                return None
            number = len(self._asked) + 1
            self._asked.append(Asked(replace(request, number=number)))
            return number

    def asked(self, student: str | None = None, *, is_open: bool = False) -> list[Asked]:
        """List requests, oldest first."""
        with self._lock:
            found = [each for each in self._asked if student in (None, each.request.student)]
            return [each for each in found if each.answer is None or not is_open]

    def end(self, answer: Answer, override: Override | None = None) -> bool:
        """Record the end of a request, and with it what is corrected; False if it has ended."""
        with self._lock:
            if not 0 < answer.request <= len(self._asked):
                raise StoreError(f"no request {answer.request} is known")
            before = self._asked[answer.request - 1]
            if before.answer is not None:
                return False
            self._asked[answer.request - 1] = replace(before, answer=answer)
            if override is not None:
                self._keep(override)
            return True

    def add_hold(self, word: Hold) -> None:
        """Record that something is held back, or no longer."""
        with self._lock:
            self._holds.append(word)

    def holds(self, student: str | None = None) -> list[Hold]:
        """List what was said of one student or of all, oldest first."""
        with self._lock:
            return [word for word in self._holds if student in (None, word.student)]

    def add_address(self, address: Address) -> None:
        """Add a secret address; raises StoreError if its hash is there."""
        with self._lock:
            if address.hash in self._addresses:
                raise StoreError("this address is there already")
            self._addresses[address.hash] = address

    def address(self, hash: str) -> Address | None:
        """Return the address with a hash, unless it was revoked."""
        with self._lock:
            found = self._addresses.get(hash)
            return None if found is None or found.revoked else found


def _place(request: Request) -> tuple[str, str, str, str]:
    return request.student, request.lab, request.commit, request.task
