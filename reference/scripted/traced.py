"""Traces that are drawn together with their truth: who worked when, and for whom.

Times are whole ticks of a quarter of a microsecond, so that sums are exact in any order, and times
of today in microseconds are exact too.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TICK = 0.25  # microseconds
ANNOTATIONS = ("prefill", "decode", "sample", "step")
OPS = ("aten::mm", "aten::add", "aten::softmax", "aten::copy_")
HOST, DEVICES = 4711, (0, 1)
Draw = Callable[[int, int], int]  # low, high -> an int from low to high - 1


@dataclass
class Trace:
    """Events as they are written, and what is true of them, in ticks."""

    draw: Draw
    base: float = 0.0  # microseconds of tick 0
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    own: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    owned: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    worked: dict[int, set[int]] = field(default_factory=lambda: defaultdict[int, set[int]](set))
    _numbers: list[int] = field(default_factory=list[int])
    _ids: int = 0

    def slice(self, cat: str, name: str, place: tuple[Any, Any], at: int, length: int, **args: Any):
        """Write a slice; without ``args`` it has none."""
        event: dict[str, Any] = {
            "ph": "X", "cat": cat, "name": name, "pid": place[0], "tid": place[1],
            "ts": self.base + at * TICK, "dur": length * TICK,
        }  # fmt: skip
        self.events.append(event | ({"args": args} if args else {}))

    def thread(self, tid: int, length: int, depth: int = 4) -> None:
        """Write what a thread does: annotations and operators in one another, and launches."""
        at = self.draw(0, 9)
        for name in ANNOTATIONS[:2] * 2:
            self._span("user_annotation", name, tid, at, length, depth, name)
            at += length + self.draw(0, 3)  # the next may begin where this one ends
        self._span("cpu_op", OPS[0], tid, at + 2, length, depth, "")

    def _span(self, cat: str, name: str, tid: int, at: int, length: int, depth: int, owner: str):
        self._ids += 1
        self.slice(cat, name, (HOST, tid), at, length, **{"External id": self._ids})
        left = length
        if depth and length >= 8:
            left = self._inside(tid, at, length, depth - 1, owner)
        elif length and self.draw(0, 4):
            # Launches are slices of another kind: the operator around them keeps its time.
            took = self.draw(1, length + 1)
            self.launch(tid, at + self.draw(0, length - took + 1), took, owner)
        self.own[name] += left

    def _inside(self, tid: int, at: int, length: int, depth: int, owner: str) -> int:
        """Write the children of a slice, and return what is left to itself."""
        if not self.draw(0, 4):  # one that fills it
            sizes, gaps = [length], [0]
        else:
            count = self.draw(1, 4)
            sizes = [self.draw(0, length // count) for _ in range(count)]
            gaps = [self.draw(0, 2) * ((length - sum(sizes)) // count) for _ in range(count)]
        start = at
        for size, gap in zip(sizes, gaps, strict=True):
            start += gap
            named = not self.draw(0, 3)
            name = ANNOTATIONS[self.draw(0, 4)] if named else OPS[self.draw(0, 4)]
            cat = "user_annotation" if named else "cpu_op"
            self._span(cat, name, tid, start, size, depth, name if named else owner)
            start += size
        return length - sum(sizes)

    def number(self) -> int:
        """Return a fresh correlation, out of the range that External ids lie in."""
        if not self._numbers:
            self._numbers = [*range(1, 400)]
        return self._numbers.pop(self.draw(0, len(self._numbers)))

    def launch(self, tid: int, at: int, length: int, owner: str) -> None:
        """Write a launch, by the runtime or by the driver, and what it brings to the devices."""
        number = self.number()
        driver = not self.draw(0, 3)
        cat, name = (
            ("cuda_driver", "cuLaunchKernel") if driver else ("cuda_runtime", "cudaLaunchKernel")
        )
        self.slice(cat, name, (HOST, tid), at, length, **{"External id": 0, "correlation": number})
        for _ in range((0, 1, 1, 1, 2, 5)[self.draw(0, 6)]):  # of a graph several
            self.work(at + length + self.draw(0, 60), self.draw(0, 12), owner, number)

    def work(self, at: int, length: int, owner: str, number: int | None) -> None:
        """Write a piece of work of a device, on any stream."""
        device, stream = DEVICES[self.draw(0, 2)], self.draw(7, 10)
        cat = ("kernel", "kernel", "gpu_memcpy", "gpu_memset")[self.draw(0, 4)]
        args = {} if number is None else {"External id": 0, "correlation": number}
        self.slice(cat, f"{cat}_{stream}", (device, stream), at, length, **args)
        self.owned[owner] += length
        self.worked[device] |= {*range(at, at + length)}

    def clutter(self) -> None:
        """Write what is no work: spans on the device, calls without kernels, work of nobody."""
        self.slice("gpu_user_annotation", "decode", (0, 7), 3, 500)
        self.slice("cuda_runtime", "cudaEventRecord", (HOST, 1), 4, 2, correlation=9001)
        self.slice("Trace", "PyTorch Profiler (0)", ("Spans", "PyTorch Profiler"), 0, 900)
        self.work(self.draw(0, 100), 3, "", 9002)  # its launch is not in the trace
        self.work(self.draw(0, 100), 5, "", None)

    def times(self, what: dict[str, int]) -> dict[str, float]:
        """Return a truth in microseconds."""
        return {name: ticks * TICK for name, ticks in what.items()}

    @property
    def busy(self) -> float:
        """How long the devices worked, in microseconds."""
        return sum(map(len, self.worked.values())) * TICK

    def listed(self) -> list[dict[str, Any]]:
        """Return the events by ts. Of those that begin together any may be first, but of equal ones
        the outer is."""
        mixed: dict[tuple[float, float], int] = {}
        for event in self.events:
            mixed.setdefault((event["ts"], event["dur"]), self.draw(0, 1 << 30))
        return sorted(self.events, key=lambda e: (e["ts"], mixed[e["ts"], e["dur"]]))


def drawn(draw: Draw, base: float = 0.0) -> Trace:
    """Draw a trace of two threads and two devices, a few hundred events."""
    trace = Trace(draw, base)
    for tid in (1, 2):
        trace.thread(tid, draw(40, 90))
    trace.clutter()
    return trace


def long(groups: int, draw: Draw) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Write a trace of five events a group, under one annotation; return it with its truth.

    In each group an annotation holds an operator, which launches two kernels on two streams.
    """
    trace = Trace(draw)
    gap, early, late = draw(1, 4), draw(1, 6), draw(0, 5)
    length = 20 + gap
    trace.slice("user_annotation", "run", (HOST, 1), 0, groups * length)
    for group in range(groups):
        at = group * length
        name = f"step {group % 3}"
        trace.slice("user_annotation", name, (HOST, 1), at, 20)
        trace.slice("cpu_op", "aten::mm", (HOST, 1), at + early, 10)
        number = {"correlation": groups - group}
        trace.slice("cuda_runtime", "cudaLaunchKernel", (HOST, 1), at + early + 1, 2, **number)
        trace.slice("kernel", "gemm", (0, 7), at + 900, 8, **number)
        trace.slice("kernel", "copy", (0, 8), at + 900 + late, 6, **number)
    counts = [len(range(rest, groups, 3)) for rest in range(3)]
    own = {f"step {rest}": 10 * count * TICK for rest, count in enumerate(counts)}
    return trace.events, {
        "device_busy": groups * max(8, late + 6) * TICK,
        "self_times": own | {"run": groups * gap * TICK, "aten::mm": groups * 10 * TICK},
        "attribute": {f"step {rest}": 14 * count * TICK for rest, count in enumerate(counts)},
    }
