"""Proven timing: the judge's clock, fresh inputs, every output checked, a ratio to a baseline.

The clock runs from the request until projections of all outputs have been read (``projection``).
Time per call is the larger of two readings, both less those of a function that does nothing:

- the slope between n and 5n calls, which drops what a request costs once;
- the time of 5n calls over 5n, which nobody can lower by making the n calls slow, or by doing the
  work of later calls in the first.

Student and baseline alternate A-B-B-A. The baseline is also timed while no student's worker lives,
before and after: a baseline that was slower beside the student counts as fast as it is alone.

The run-time guard costs more than what is timed. It looks at runs that count for nothing, between
those that do.
"""

import gc
import random
import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

import torch

from grader.proxy.conversation.spent import LOOKING, Spent
from grader.proxy.student import Student
from grader.timing.interval import Interval, bootstrap
from grader.timing.projection import Prover, Reader
from grader.timing.race import Race
from grader.timing.roofline import event_seconds
from grader.wire.memory import SharedMemory
from grader.wire.ring import Layout, slots_of

FEWEST_BLOCKS, MOST_BLOCKS = 6, 30
CLEAR_BLOCKS = 3  # enough where each of them says the same, by far
SOLO_SAMPLES = 3
STEADY = 0.02  # what one timing of the baseline differs from the next by anyway
EVENT_CALLS = 40
TRIALS = 3  # of what noise can only lengthen
FACTOR = 5  # between the short and the long run
LONG_RUN_SECONDS = 0.015  # of the baseline: this bounds the number of calls
MOST_CALLS = 12  # n, of the short run
RING_SHARE = 0.2  # of the free memory of the device, for one ring of two
WATCHED_SHARE = 1 / 3  # of the blocks: before each of these the guard looks at a run
COMPILE_SECONDS = 180.0  # for the first call: a kernel is compiled, perhaps tuned
RUN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of a run of n calls and of one of 5n, with the round trip and the checks."""

    short: float
    long: float


@dataclass(frozen=True, slots=True)
class PerCall:
    """Turns samples into seconds per call; ``null`` is what the same runs cost without any work."""

    calls: int
    null: Sample

    def seconds(self, samples: list[Sample]) -> float:
        """Return the seconds of one call: the larger of slope and average."""
        short = statistics.fmean(sample.short for sample in samples) - self.null.short
        long = statistics.fmean(sample.long for sample in samples) - self.null.long
        slope = (long - short) / ((FACTOR - 1) * self.calls)
        # Never nothing: a ratio is made of it. What is too fast is found by the physical floor.
        return max(slope, long / (FACTOR * self.calls), 1e-9)


@dataclass(slots=True)
class Timing:
    """What a race has measured; times in seconds per call."""

    calls: int
    null: float
    solo: float  # of the baseline while no student's worker lives
    events: float = 0.0  # of the baseline's function in the judge, by CUDA events; 0 on a CPU
    student: list[float] = field(default_factory=list[float])  # one for each block
    baseline: list[float] = field(default_factory=list[float])

    @property
    def ratio(self) -> Interval:
        """How many times as fast as the baseline the student is."""
        pairs = zip(self.student, self.baseline, strict=True)
        most = (1 + STEADY) * self.solo
        return bootstrap([min(base, most) / own for own, base in pairs])

    @property
    def disturbance(self) -> float:
        """How much slower the baseline was beside the student than alone; 0.1 is 10 %."""
        return statistics.median(self.baseline) / self.solo - 1


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what this process gave it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Lane:
    """One side of a race: a submission in its worker, and a ring that only these two share."""

    def __init__(self, student: Student, race: Race, layout: Layout, device: torch.device) -> None:
        self.student = student
        self._race = race
        self._device = device
        self._readers: dict[int, Reader] = {}  # by how many slots they read
        self._memory = SharedMemory.make(layout.size, device)
        self.slots = slots_of(layout, self._memory.bytes)
        try:
            student.share_(self._memory.fd, self._memory.size, layout)
        except BaseException:
            self.close()  # a submission that refuses rings could else use up the GPU
            raise

    def run(
        self, prover: Prover, count: int, *, null: bool = False, seconds: float = RUN_SECONDS
    ) -> float:
        """Time ``count`` calls on fresh inputs; raises Mismatch if an output is not right."""
        slots = self.slots[:count]
        if count not in self._readers:
            self._readers[count] = prover.reader(slots)
        # A run without work leaves nothing to judge: what lies in its slots is as good as fresh.
        expected = [] if null else prover.prepare(slots)
        name = None if null else self._race.function
        synchronize(self._device)
        started = time.perf_counter()
        self.student.race_(name, count, dict(self._race.options), seconds)
        seen = self._readers[count].read()
        synchronize(self._device)
        elapsed = time.perf_counter() - started
        if not null:
            prover.judge(seen, expected)
        return elapsed

    def watch(self, prover: Prover, count: int) -> None:
        """Run once more, untimed, beside the run-time guard; raises Forbidden for what it sees.

        A run without it follows: what is timed next begins as it would have.
        """
        guard = self.student.race_guard_()
        if guard is not None:
            with guard:
                self.run(prover, count, seconds=COMPILE_SECONDS)
            self.run(prover, count)

    def quickest(self, prover: Prover, count: int) -> float:
        """Return about how many seconds a call takes: a first reading, to plan with."""
        idle, busy = (
            min(self.run(prover, count, null=null) for _ in range(TRIALS)) for null in (True, False)
        )
        return (busy - idle) / count

    def sample(self, prover: Prover, calls: int, *, null: bool = False) -> Sample:
        """Time n and 5n calls, in an order that cannot be known."""
        counts = [calls, FACTOR * calls]
        random.SystemRandom().shuffle(counts)
        with no_collection():
            seconds = {count: self.run(prover, count, null=null) for count in counts}
        return Sample(seconds[calls], seconds[FACTOR * calls])

    def close(self) -> None:
        """Give the ring up."""
        self.slots = []
        self._readers.clear()
        self._memory.close()


@contextmanager
def no_collection() -> Generator[None, None, None]:
    """Keep Python's garbage collector out of what is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def middle(samples: list[Sample]) -> Sample:
    """Return the median of each reading."""
    return Sample(
        statistics.median(sample.short for sample in samples),
        statistics.median(sample.long for sample in samples),
    )


def choose_calls(seconds: float, slots: int) -> int:
    """Return n, given the baseline's seconds per call and how many slots a ring may have."""
    wanted = round(LONG_RUN_SECONDS / max(seconds, 1e-9)) // FACTOR
    return max(1, min(wanted, slots // FACTOR, MOST_CALLS))


class Contest:
    """The course of one race: baseline alone, blocks of A-B-B-A, baseline alone."""

    def __init__(self, race: Race, prover: Prover, calls: int, spent: Spent) -> None:
        self.race = race
        self.prover = prover
        self._spent = spent
        self.calls = calls
        self._solo: list[list[Sample]] = []
        self._blocks: list[tuple[list[Sample], list[Sample]]] = []
        self._null: list[Sample] = []
        self._events = 0.0

    def alone(self, baseline: Lane) -> None:
        """Time the baseline, and the null function, while no worker of the student's lives."""
        baseline.run(self.prover, FACTOR * self.calls)  # warm
        self._null += [
            baseline.sample(self.prover, self.calls, null=True) for _ in range(SOLO_SAMPLES)
        ]
        self._solo.append([baseline.sample(self.prover, self.calls) for _ in range(SOLO_SAMPLES)])

    def by_events(self, baseline: Lane) -> None:
        """Time the baseline's function in this process too: the two clocks should agree."""
        if baseline.slots[0].inputs[0].is_cuda:
            self.prover.prepare(baseline.slots)
            slots = cycle(baseline.slots)
            readings = event_seconds(lambda: self.prover.repeat(next(slots)), EVENT_CALLS)
            self._events = statistics.median(readings[EVENT_CALLS // 4 :])

    def warm_up(self, student: Lane) -> None:
        """Let the student's kernels be compiled, and check whole outputs."""
        student.run(self.prover, 1, seconds=COMPILE_SECONDS)
        self.prover.judge_whole(student.slots[:1])
        student.run(self.prover, FACTOR * self.calls)
        self._look(student)

    def block(self, student: Lane, baseline: Lane) -> None:
        """Time A-B-B-A once."""
        order = (student, baseline, baseline, student)
        samples = [lane.sample(self.prover, self.calls) for lane in order]
        self._blocks.append(([samples[0], samples[3]], samples[1:3]))

    def timing(self) -> Timing:
        """Return what has been measured so far."""
        null = middle(self._null)
        per_call = PerCall(self.calls, null)
        alone = max(per_call.seconds(samples) for samples in self._solo)
        timing = Timing(self.calls, null.long / (FACTOR * self.calls), alone, self._events)
        for own, base in self._blocks:
            timing.student.append(per_call.seconds(own))
            timing.baseline.append(per_call.seconds(base))
        return timing

    def compete(self, student: Lane, baseline: Lane, ratios: tuple[float, ...]) -> None:
        """Time blocks until every ratio is decided, or as many as there may be.

        The guard looks between blocks at moments that nobody can know, and at the end.
        """
        draw = random.SystemRandom()
        while len(self._blocks) < MOST_BLOCKS:
            if draw.random() < WATCHED_SHARE:
                self._look(student)
            self.block(student, baseline)
            if self._is_decided(ratios):
                break
        self._look(student)

    def _is_decided(self, ratios: tuple[float, ...]) -> bool:
        blocks = len(self._blocks)
        if blocks < CLEAR_BLOCKS:
            return False
        ratio = self.timing().ratio
        return ratio.is_clear_of(ratios) or (blocks >= FEWEST_BLOCKS and ratio.settles(ratios))

    def _look(self, student: Lane) -> None:
        with self._spent.on(LOOKING):
            student.watch(self.prover, self.calls)
