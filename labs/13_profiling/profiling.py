"""Lab 13: know the time before you take it.

Letters: B sequences, T new tokens, S context (all tokens so far, the new ones included), H query
heads, G key/value heads, D head width, E model width, F feed-forward width, V vocabulary, L layers.
Times of traces are microseconds. Events are dicts, as ``read_trace`` returns them: by ``ts``, with
``ts`` and ``dur`` as floats.
"""

from collections.abc import Callable
from typing import Any

from labs.common import LlamaConfig

Event = dict[str, Any]

# --- Task 1: flops ---------------------------------------------------------------------------


def step_flops(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
) -> dict[str, int]:  # "qkv", "scores", "values", "output", "mlp", "head"
    """Count the operations of all matrix products of a step, a multiply-add as two."""
    raise NotImplementedError("flops: step_flops")


def causal_pairs(
    new: int,  # T
    context: int,  # S
) -> int:
    """Count the pairs of query and key that a causal mask leaves, of one head and row."""
    raise NotImplementedError("flops: causal_pairs")


# --- Task 2: bytes ---------------------------------------------------------------------------


def step_bytes(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
    weight_bytes: float = 2.0,  # of an element: 0.5 for four bits
    cache_bytes: float = 2.0,
) -> dict[str, int]:  # "weights", "cache_read", "cache_write"
    """Count the bytes that a step must read and write: weights once, and the cache."""
    raise NotImplementedError("bytes: step_bytes")


# --- Task 3: roofline ------------------------------------------------------------------------


def roofline(
    flops: float,
    nbytes: float,
    peak: float,  # FLOP/s
    bandwidth: float,  # bytes/s
) -> dict[str, Any]:  # "intensity", "attainable" (FLOP/s), "seconds", "bound": "compute" | "memory"
    """Say how fast a device can be, and which of its two limits holds it."""
    raise NotImplementedError("roofline: roofline")


def compute_bound_batch(
    config: LlamaConfig,
    context: int,  # S
    peak: float,
    bandwidth: float,
    limit: int = 4096,  # the largest batch that is looked at
) -> int | None:
    """Return the smallest batch whose decode step is bound by compute, None beyond the limit."""
    raise NotImplementedError("roofline: compute_bound_batch")


# --- Task 4: trace ---------------------------------------------------------------------------


def read_trace(path: str) -> list[Event]:
    """Read slices and instants of a Chrome trace, zipped or not, in the order of their ts."""
    raise NotImplementedError("trace: read_trace")


def device_busy(events: list[Event]) -> float:
    """Return how long the devices worked: what streams do at once counts once a device."""
    raise NotImplementedError("trace: device_busy")


def self_times(events: list[Event]) -> dict[str, float]:
    """Return for each name the time in which a slice of it is the innermost of its track."""
    raise NotImplementedError("trace: self_times")


def attribute(events: list[Event]) -> dict[str, float]:
    """Return device time by the innermost annotation around what launched it."""
    raise NotImplementedError("trace: attribute")


# --- Task 5: memory --------------------------------------------------------------------------


def largest_tensor(
    config: LlamaConfig,
    batch: int,  # B
    new: int,  # T
    context: int,  # S
) -> list[Any]:  # [name, elements]; "scores", "mlp", "hidden" or "keys"
    """Return name and elements of the largest tensor that a layer makes."""
    raise NotImplementedError("memory: largest_tensor")


def peak_memory(events: list[Event]) -> list[Any]:  # [bytes, ts]
    """Return the most bytes that one device held beyond the start, and when it first did."""
    raise NotImplementedError("memory: peak_memory")


def plan_memory(
    tensors: list[list[int]],  # [size in bytes, first step, last step] of each
) -> list[int]:
    """Return an offset for each tensor, in one piece of memory as small as you can."""
    raise NotImplementedError("memory: plan_memory")


# --- Task 6: measure -------------------------------------------------------------------------


def measure(
    fn: Callable[[], object],  # queues work on the device, and returns
    clock: Callable[[], float],
    synchronize: Callable[[], object],  # returns when the device has done all that was queued
    warmup: int,
    repeats: int,
) -> dict[str, Any]:  # "times": list[float], "median", "minimum"
    """Time calls of ``fn`` on a device that works on after they return."""
    raise NotImplementedError("measure: measure")
