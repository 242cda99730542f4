"""How long one waits, in words."""

from dataclasses import dataclass
from datetime import timedelta

from grader.service.core.outlook import Pace

DEVICES = {"cpu": "CPU", "cuda": "GPU"}


@dataclass(frozen=True, slots=True)
class PaceLine:
    """A device's queue, as pages tell of it; "" where nothing can be said."""

    device: str
    waiting: int
    running: int
    expected: str  # for what is handed in now
    median: str
    worst: str


def pace_line(pace: Pace) -> PaceLine:
    """Return a device's queue in words."""
    return PaceLine(
        DEVICES.get(pace.device, pace.device),
        pace.waiting,
        pace.running,
        time_text(pace.expected(pace.waiting + 1)),
        time_text(pace.median),
        time_text(pace.worst),
    )


def time_text(time: timedelta | None) -> str:
    """Return a time in words, "" of one that nobody knows."""
    if time is None:
        return ""
    seconds = time.total_seconds()
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
