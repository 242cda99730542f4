"""The worker's part of proven timing: call a function once for each slot of a ring.

It reads no clock. What it says proves nothing: the judge looks at what lies in the ring, which is
its own memory, before it stops its clock.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from grader.wire.memory import SharedMemory
from grader.wire.ring import Layout, Slot, slots_of

Unobserved = Callable[[], AbstractContextManager[Any]]

HEAD_START = 12  # readings of the flood, about 0.4 ms


class Harness:
    """A ring as the worker sees it."""

    def __init__(self, memory: SharedMemory, layout: Layout) -> None:
        self._memory = memory
        self._device = memory.bytes.device
        self._slots = slots_of(layout, memory.bytes)
        # What the null function returns: as large as a result, and as little in the cache.
        outputs = self._slots[0].outputs
        self._nothing = tuple(torch.zeros_like(output) for output in outputs)
        self._flood = flood(self._device)
        self._drained = torch.empty((), device=self._device)

    def run(self, function: Callable[..., Any] | None, count: int, options: dict[str, Any]) -> None:
        """Call the function on the first ``count`` slots; None stands for one that does nothing.

        The GPU is given something to do first: the launch of the first call takes 0.3 ms more than
        that of a later one, and would count as the call's.
        """
        for _ in range(HEAD_START):
            self._read_flood()
        for slot in self._slots[:count]:
            result = self._nothing if function is None else function(*slot.inputs, **options)
            self._read_flood()
            keep(result, slot)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def run_watched(
        self, function: Callable[..., Any], count: int, options: dict[str, Any], ours: Unobserved
    ) -> None:
        """Call the function on the first ``count`` slots while probes look: nobody times this.

        They see the function's work alone, not the copies.
        """
        for slot in self._slots[:count]:
            result = function(*slot.inputs, **options)
            with ours():
                keep(result, slot)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _read_flood(self) -> None:
        torch.sum(self._flood, 0, out=self._drained)

    def close(self) -> None:
        """Give the ring up."""
        self._slots = []
        self._memory.close()


def flood(device: torch.device) -> torch.Tensor:
    """Return a buffer that, once read, leaves nothing else in the device's cache.

    It stands between a call and the copy of its result. Else the copy would find the end of the
    result in the cache, that of the null function would not, and the call would seem too fast. It
    is read, not written: what has been written leaves the cache while the next call runs, which
    would seem slower than it is.
    """
    if device.type == "cpu":
        return torch.zeros(0)
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    return torch.zeros(2 * cache // 4, device=device)  # float32


def keep(result: Any, slot: Slot) -> None:
    """Copy what a call returned to its slot; raises ValueError if it does not fit."""
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(slot.outputs):
        raise ValueError(f"{len(results)} values were returned, not {len(slot.outputs)}")
    for value, place in zip(results, slot.outputs, strict=True):
        if not isinstance(value, torch.Tensor) or value.shape != place.shape:
            raise ValueError(f"what was returned has not the shape {list(place.shape)}")
        place.copy_(value)
