"""What is kept of a learning platform, behind which a database or a double may stand."""

from datetime import datetime
from typing import Protocol

from grader.service.domain.platforms import Context, Sent


class Platforms(Protocol):
    """Courses at a platform, and marks on their way there."""

    def note_context(self, context: Context) -> None:
        """Note a course there; an address that is empty leaves the one that was known."""
        ...

    def contexts(self) -> list[Context]:
        """List the courses there, by deployment and id."""
        ...

    def begin_sending(self, mark: Sent) -> None:
        """Note a mark before it goes."""
        ...

    def end_sending(self, student: str, lab: str, made: datetime) -> None:
        """Note that it arrived."""
        ...

    def sent(self, student: str, lab: str) -> Sent | None:
        """Return the newest mark of a student and lab that was on its way; None: there is none."""
        ...
