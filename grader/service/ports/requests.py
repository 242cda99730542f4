"""What the rules need of what goes back to students: requests with answers, holds, addresses."""

from typing import Protocol

from grader.course.database.giving.records import Address, Answer, Asked, Hold, Request
from grader.course.database.records import Override


class Returns(Protocol):
    """What goes back to students. All of it only grows, but that addresses can be revoked."""

    def ask(self, request: Request) -> int | None:
        """Record a request and return its number; None if one of attempt and task is open."""
        ...

    def asked(self, student: str | None = None, *, is_open: bool = False) -> list[Asked]:
        """List requests, oldest first: of one student or of all, or those alone that are open."""
        ...

    def end(self, answer: Answer, override: Override | None = None) -> bool:
        """Record the end of a request, and with it what is corrected; False if it has ended."""
        ...

    def add_hold(self, word: Hold) -> None:
        """Record that something is held back, or no longer."""
        ...

    def holds(self, student: str | None = None) -> list[Hold]:
        """List what was said of one student or of all, oldest first; the newest of each holds."""
        ...

    def add_address(self, address: Address) -> None:
        """Add a secret address; raises StoreError if its hash is there."""
        ...

    def address(self, hash: str) -> Address | None:
        """Return the address with a hash, unless it was revoked."""
        ...
