"""The time of day, so that tests can say what it is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return this moment, in UTC."""
        ...


class WallClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return this moment, in UTC."""
        return datetime.now(UTC)
