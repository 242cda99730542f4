"""The GPU side of the loop: a timer by CUDA events, and slots that no cache can hold."""

import math
from collections.abc import Callable

import torch

from grader.kernels.case import Case, Slot

SCRATCH_BYTES = 256 << 20
FILLS = 8  # together some half a millisecond: longer than the launch of a first kernel
CACHES = 3  # a ring is at least so many times the L2 cache


class EventTimer:
    """Times what runs on the current stream, in seconds."""

    def __init__(self) -> None:
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._scratch = torch.empty(SCRATCH_BYTES, dtype=torch.uint8, device="cuda")

    def __call__(self, work: Callable[[], None]) -> float:
        """Run the work behind other work, so that no launch is waited for."""
        for _ in range(FILLS):
            self._scratch.zero_()  # it sweeps the cache, too
        self._start.record()
        work()
        self._end.record()
        self._end.synchronize()
        return self._start.elapsed_time(self._end) / 1e3


def slots_of(case: Case, generator: torch.Generator) -> list[Slot]:
    """Fresh inputs for as many calls as do not fit the L2 cache together; at least two."""
    first = case.inputs(generator)
    taken = sum(tensor.nbytes for tensor in first)
    cache = torch.cuda.get_device_properties(generator.device).L2_cache_size
    count = max(2, math.ceil(CACHES * cache / taken))
    return [first, *(case.inputs(generator) for _ in range(count - 1))]
