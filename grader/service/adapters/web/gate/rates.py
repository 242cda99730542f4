"""How often and how much at once: token buckets and counters in memory, by student and address."""

import ipaddress
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_KEYS = 20_000  # that are remembered
Ticks = Callable[[], float]  # seconds of a clock that never goes back


@dataclass(slots=True)
class _Bucket:
    left: float
    seen: float


class Buckets:
    """Lets each key do ``burst`` things at once, and ``rate`` a second in the long run."""

    def __init__(self, rate: float, burst: float, ticks: Ticks = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._ticks = ticks
        self._buckets: dict[str, _Bucket] = {}
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Return 0.0 if the key may go on; else the seconds after which it may."""
        with self._lock:
            bucket = self._filled(key)
            if bucket.left < 1:
                return (1 - bucket.left) / self._rate
            bucket.left -= 1
            return 0.0

    def wait(self, key: str) -> float:
        """Return what ``take`` would, and take nothing."""
        with self._lock:
            return max(0.0, (1 - self._filled(key).left) / self._rate)

    def _filled(self, key: str) -> _Bucket:
        now = self._ticks()
        if key not in self._buckets and len(self._buckets) >= MOST_KEYS:
            self._forget(now)
        bucket = self._buckets.setdefault(key, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + (now - bucket.seen) * self._rate)
        bucket.seen = now
        return bucket

    def _forget(self, now: float) -> None:
        """Drop who has not come for so long that nothing is known of them, else the oldest."""
        full = self._burst / self._rate
        kept = {key: each for key, each in self._buckets.items() if now - each.seen < full}
        for key in [*kept][: max(0, len(kept) - MOST_KEYS // 2)]:
            del kept[key]
        self._buckets = kept


class Streams:
    """Counts what each key has open."""

    def __init__(self, each: int, most: int) -> None:
        self._each = each
        self._most = most
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    def enter(self, key: str) -> bool:
        """Open one more; False, and nothing is open, if the key or all have too many."""
        with self._lock:
            if self._open[key] >= self._each or self._open.total() >= self._most:
                return False
            self._open[key] += 1
            return True

    def leave(self, key: str) -> None:
        """Close one."""
        with self._lock:
            self._open[key] -= 1
            if self._open[key] <= 0:
                del self._open[key]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one may ask of the service. A class may sit behind one address."""

    addresses: Buckets = field(default_factory=lambda: Buckets(100, 1000))
    failures: Buckets = field(default_factory=lambda: Buckets(0.5, 30))  # to sign in, by address
    people: Buckets = field(default_factory=lambda: Buckets(5, 100))
    hand_ins: Buckets = field(default_factory=lambda: Buckets(0.2, 12))  # that were not refused
    streams: Streams = field(default_factory=lambda: Streams(each=4, most=800))
    body: int = 1 << 20  # bytes
    body_seconds: float = 30.0  # within which a body is there


def address_key(host: str) -> str:
    """Return what an address counts as: of IPv6 the network that one subscriber has."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False))
