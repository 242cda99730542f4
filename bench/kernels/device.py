"""The GPU side of the loop: a timer by CUDA events, and slots that no cache can hold."""

import math
from collections.abc import Callable

import torch

from bench.kernels.case import Case, Slot

CACHES = 3  # a ring is at least so many times the L2 cache


class EventTimer:
    """Times what runs on the current stream, in seconds."""

    def __init__(self) -> None:
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def __call__(self, work: Callable[[], None]) -> float:
        """Time the second of two runs of the work, queued behind the first.

        So no launch is waited for, and the clock that the GPU can afford is this work's own: under
        a limit of power, what runs before it would else decide.
        """
        work()
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
