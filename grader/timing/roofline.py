"""What a GPU can do at best, measured in the same run, and whether anything else works on it."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch

from grader.errors import CannotGrade

COPY_BYTES = 1 << 30
MATMUL = 8192  # rows and columns
SHORT_COPY_BYTES = 64 << 20
SHORT_COPIES = 200
UNREST = 1.25  # a row of short copies may take this many times what its fastest suggest
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Roofline:
    """What this GPU reached in this run: bytes a second of a copy, FLOPs a second of a matmul."""

    bandwidth: float
    matmul: float

    def floor(self, moved: int, flops: int) -> float:
        """Return the least seconds that a call can take."""
        return max(moved / self.bandwidth, flops / self.matmul)


def measure_roofline(device: torch.device) -> Roofline:
    """Measure a large copy and a large bf16 matmul on random values."""
    return Roofline(2 * COPY_BYTES / _copy_seconds(device), 2 * MATMUL**3 / _matmul_seconds(device))


def _copy_seconds(device: torch.device) -> float:
    source = torch.empty(COPY_BYTES // 2, dtype=torch.bfloat16, device=device).normal_()
    target = torch.empty_like(source)
    return _seconds(lambda: target.copy_(source), 20)


def _matmul_seconds(device: torch.device) -> float:
    a, b = (torch.randn(MATMUL, MATMUL, device=device, dtype=torch.bfloat16) for _ in range(2))
    return _seconds(lambda: torch.mm(a, b), 20)


def _seconds(work: Callable[[], object], times: int) -> float:
    readings = event_seconds(work, times)
    return statistics.median(readings[times // 4 :])


def event_seconds(work: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of each of ``times`` runs, by events of our own process."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]
    marks[0].record()
    for mark in marks[1:]:
        work()
        mark.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in pairwise(marks)]


def unrest(device: torch.device) -> float:
    """Return how much longer a row of short copies takes than its fastest ones suggest.

    A GPU gives its contexts slices of time: beside another that works, some copies wait.
    """
    source = torch.empty(SHORT_COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    readings = sorted(event_seconds(lambda: target.copy_(source), SHORT_COPIES))
    return statistics.fmean(readings) / readings[SHORT_COPIES // 10]


def wait_for_rest(device: torch.device) -> None:
    """Wait until nothing else works on the GPU; raises CannotGrade if that does not come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (measured := unrest(device)) > UNREST:
        if time.monotonic() > deadline:
            raise CannotGrade(
                f"the GPU is busy: short copies take {measured:.1f} times as long as alone",
                "time on a GPU that nothing else uses",
            )
        time.sleep(1.0)
