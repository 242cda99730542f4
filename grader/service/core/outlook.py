"""The queue as people are told of it: places, and how long one will wait, for each device.

Every page and stream that waits asks for it, so one look at the store serves all within a second,
and for longer where thousands wait and a look takes its time.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from statistics import median
from time import monotonic

from grader.service.domain.records import Begun, HandIn, State
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

LATELY = timedelta(hours=1)  # the waits that are spoken of
KEPT_SECONDS = 1.0  # for which a look serves
QUICK_SECONDS = 0.05  # a look that may be repeated for each hand-in that is new
SHARE = 10  # a slow one serves for so many times as long as it took
DEVICES: tuple[str, ...] = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Pace:
    """What waits for a device, and what gradings on it of the last hour tell; None: none began."""

    device: str
    waiting: int
    running: int
    median: timedelta | None  # of the waits
    worst: timedelta | None
    took: timedelta | None  # the median of the gradings

    def expected(self, place: int) -> timedelta | None:
        """Return about how long what has a place waits for its turn; None if nobody can say."""
        if self.took is None:
            return None
        return self.took * ceil(place / max(self.running, 1))


@dataclass(frozen=True, slots=True)
class Outlook:
    """The queue at a moment, in the order in which it will run."""

    waiting: Sequence[HandIn]
    running: Sequence[HandIn]
    places: Mapping[int, int]  # by number, from 1, among what waits for the same device
    paces: Mapping[str, Pace]  # by device


class Lookout:
    """Looks at the queue, seldom."""

    def __init__(self, store: Store, clock: Clock, ticks: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._ticks = ticks
        self._lock = threading.Lock()
        self._found: Outlook | None = None
        self._looked = self._took = 0.0

    def look(self, waits: HandIn | None = None) -> Outlook:
        """Return the queue; it knows ``waits``, which is waiting, unless a look takes long."""
        with self._lock:
            known, age = self._found, self._ticks() - self._looked
            kept = max(KEPT_SECONDS, SHARE * self._took)
            if known is None or age >= kept or (waits and self._misses(known, waits)):
                return self._look()
            return known

    def _misses(self, known: Outlook, waits: HandIn) -> bool:
        is_new = waits.state is State.WAITING and waits.number not in known.places
        return is_new and self._took < QUICK_SECONDS

    def _look(self) -> Outlook:
        began = self._ticks()
        queued = self._store.queued()
        waiting = [item for item in queued if item.state is State.WAITING]
        running = [item for item in queued if item.state is State.RUNNING]
        begun = self._store.begun(self._clock.now() - LATELY)
        counts: dict[str, int] = dict.fromkeys(DEVICES, 0)
        places: dict[int, int] = {}
        for item in waiting:
            counts[item.device] = places[item.number] = counts.get(item.device, 0) + 1
        paces = {
            device: _pace(device, count, running, [each for each in begun if each.device == device])
            for device, count in counts.items()
        }
        found = self._found = Outlook(waiting, running, places, paces)
        self._looked = self._ticks()
        self._took = self._looked - began
        return found


def _pace(device: str, waiting: int, running: Sequence[HandIn], begun: Sequence[Begun]) -> Pace:
    waits = [each.waited for each in begun]
    took = [each.took for each in begun if each.took is not None]
    return Pace(
        device,
        waiting,
        running=sum(item.device == device for item in running),
        median=_median(waits),
        worst=max(waits, default=None),
        took=_median(took),
    )


def _median(times: Sequence[timedelta]) -> timedelta | None:
    if not times:
        return None
    return timedelta(seconds=median(time.total_seconds() for time in times))
