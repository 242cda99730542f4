"""Borders are swept from left to right: how many are open, and which of them began last. Tensors
are placed by time, each in the tightest gap.
"""

import gzip
import heapq
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path
from statistics import median
from typing import Any

from labs.common import LlamaConfig

Event = dict[str, Any]
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")
ALIGNMENT = 64


def step_flops(config: LlamaConfig, batch: int, new: int, context: int) -> dict[str, int]:
    """Count the operations of all matrix products of a step, a multiply-add as two."""
    _check_step(batch, new, context)
    layers, heads, width = config.num_layers, config.num_heads, config.head_dim
    hidden, tokens = config.hidden_size, batch * new
    scores = 2 * batch * layers * heads * new * context * width
    return {
        "qkv": 2 * tokens * layers * hidden * (heads + 2 * config.num_kv_heads) * width,
        "scores": scores,
        "values": scores,
        "output": 2 * tokens * layers * heads * width * hidden,
        "mlp": 6 * tokens * layers * hidden * config.intermediate_size,
        "head": 2 * tokens * hidden * config.vocab_size,
    }


def causal_pairs(new: int, context: int) -> int:
    _check_step(1, new, context)
    return (
        sum(range(context - new + 1, context + 1))
        if new < 1000
        else ((2 * context - new + 1) * new // 2)
    )


def step_bytes(
    config: LlamaConfig,
    batch: int,
    new: int,
    context: int,
    weight_bytes: float = 2.0,
    cache_bytes: float = 2.0,
) -> dict[str, int]:
    """Count the bytes that a step must read and write: weights once, and the cache."""
    _check_step(batch, new, context)
    hidden, heads = config.hidden_size, config.num_heads + config.num_kv_heads
    matrices = 2 * heads * config.head_dim * hidden + 3 * hidden * config.intermediate_size
    ends = (batch * new + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
    weights = config.num_layers * (matrices + 2 * hidden) + ends
    token = 2 * batch * config.num_layers * config.num_kv_heads * config.head_dim
    return {
        "weights": math.ceil(weights * weight_bytes),
        "cache_read": math.ceil(token * context * cache_bytes),
        "cache_write": math.ceil(token * new * cache_bytes),
    }


def _check_step(batch: int, new: int, context: int) -> None:
    if batch < 1:
        raise ValueError(f"batch is {batch}, and should be 1 or more")
    if new < 1:
        raise ValueError(f"new is {new}, and should be 1 or more")
    if context < new:
        raise ValueError(f"context is {context}, and holds the {new} new tokens too")


def roofline(flops: float, nbytes: float, peak: float, bandwidth: float) -> dict[str, Any]:
    """Say how fast a device can be, and which of its two limits holds it."""
    _check_device(peak, bandwidth)
    intensity = flops / nbytes if nbytes else math.inf
    computing, moving = flops / peak, nbytes / bandwidth
    return {
        "intensity": intensity,
        "attainable": min(peak, intensity * bandwidth),
        "seconds": max(computing, moving),
        "bound": "compute" if computing >= moving else "memory",
    }


def compute_bound_batch(config, context, peak, bandwidth, limit=4096):
    _check_step(1, 1, context)
    _check_device(peak, bandwidth)

    def bound(batch):
        flops = sum(step_flops(config, batch, 1, context).values())
        nbytes = sum(step_bytes(config, batch, 1, context).values())
        return roofline(flops, nbytes, peak, bandwidth)["bound"] == "compute"

    low, high = 1, limit
    if limit < 1 or not bound(limit):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) else (middle + 1, high)
    return low


def _check_device(peak: float, bandwidth: float) -> None:
    if peak <= 0:
        raise ValueError(f"peak is {peak}, and should be above 0")
    if bandwidth <= 0:
        raise ValueError(f"bandwidth is {bandwidth}, and should be above 0")


def read_trace(path: str) -> list[Event]:
    """Read slices and instants of a Chrome trace, zipped or not, in the order of their ts."""
    raw = Path(path).read_bytes()
    try:
        trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} holds no JSON: {error}") from None
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list):
        raise ValueError(f"{path} is no trace: it has no list traceEvents")
    kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
    return sorted(kept, key=lambda event: event["ts"])


def _timed(event: Event) -> Event:
    """Return the event with its times as floats."""
    times = {}
    for key, text in (("ts", event.get("ts")), ("dur", event.get("dur", 0))):
        try:
            times[key] = float(text)
        except (TypeError, ValueError):
            raise ValueError(f"{key} of {event.get('name')} is {text!r}, no number") from None
    return event | times


def device_busy(events):
    borders = defaultdict(list)
    for event in events:
        if event.get("cat") in DEVICE:
            start, end = _span(event)
            borders[event["pid"]] += [(start, 1), (end, -1)]
    busy = 0.0
    for marks in borders.values():
        running, since = 0, 0.0
        # Ends after starts of the same moment: whatever touches is one.
        for at, change in sorted(marks, key=lambda mark: (mark[0], -mark[1])):
            if running == 0:
                since = at
            running += change
            if running == 0:
                busy += at - since
    return busy


def self_times(events):
    times = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        heap, borders = [], []
        for i, event in enumerate(track):
            start, end = _span(event)
            borders += [(start, i, end), (end, -1, end)]
        before = -math.inf
        for at, i, end in sorted(borders):
            while heap and heap[0][1] <= before:
                heapq.heappop(heap)
            if heap and at > before:
                times[track[-heap[0][0]]["name"]] += at - before
            before = at
            if i >= 0:
                heapq.heappush(heap, (-i, end))
    return dict(times)


def attribute(events: list[Event]) -> dict[str, float]:
    """Return device time by the innermost annotation around what launched it."""
    owners: dict[Any, str] = {}  # of a correlation
    for track in _tracks(events, ("user_annotation", *LAUNCH)):
        open_: list[tuple[float, str]] = []
        for event in sorted(track, key=lambda event: (event["ts"], event["cat"] in LAUNCH)):
            start, end = _span(event)
            if event["cat"] not in LAUNCH:
                open_.append((end, event["name"]))
                continue
            while open_ and open_[-1][0] < start:
                open_.pop()
            around = (name for until, name in reversed(open_) if until >= end)
            owners[_correlation(event)] = next(around, "")
    owners[None] = ""  # work without a number is nobody's, whoever has none either
    times: dict[str, float] = defaultdict(float)
    for event in events:
        if event.get("cat") in DEVICE:
            times[owners.get(_correlation(event), "")] += event["dur"]
    return dict(times)


def _span(event: Event) -> tuple[float, float]:
    return event["ts"], event["ts"] + event["dur"]


def _correlation(event: Event) -> Any:
    return event.get("args", {}).get("correlation")


def _tracks(events: list[Event], cats: Collection[str]) -> list[list[Event]]:
    """Return the slices of these kinds by process and thread, outer ones ahead of inner ones."""
    tracks: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event.get("cat") in cats:
            tracks[event["pid"], event["tid"]].append(event)
    return [sorted(track, key=lambda e: (e["ts"], -e["dur"])) for track in tracks.values()]


def largest_tensor(config: LlamaConfig, batch: int, new: int, context: int) -> list[Any]:
    """Return name and elements of the largest tensor that a layer makes."""
    _check_step(batch, new, context)
    sizes = {
        "scores": config.num_heads * new * context,
        "mlp": new * config.intermediate_size,
        "hidden": new * config.hidden_size,
        "keys": config.num_kv_heads * context * config.head_dim,
    }
    name = max(sizes, key=sizes.__getitem__)  # the first of several
    return [name, batch * sizes[name]]


def peak_memory(events: list[Event]) -> list[Any]:
    """Return the most bytes that one device held beyond the start, and when it first did."""
    held: dict[Any, int] = defaultdict(int)
    peak, at = 0, 0.0
    for event in events:
        if event.get("name") == "[memory]":
            args = event["args"]
            device = args["Device Type"], args["Device Id"]
            held[device] += args["Bytes"]
            if held[device] > peak:
                peak, at = held[device], event["ts"]
    return [peak, at]


def plan_memory(tensors):
    offsets = [0] * len(tensors)
    order = sorted(range(len(tensors)), key=lambda i: (tensors[i][1], -tensors[i][0]))
    alive = []  # (offset, rounded end, last step)
    for i in order:
        size, first, last = tensors[i]
        alive = sorted(each for each in alive if each[2] >= first)
        need, gaps, at = -(-size // 64) * 64, [], 0
        for start, end, _ in alive:
            if start - at >= need:
                gaps.append((start - at, at))
            at = max(at, end)
        offsets[i] = min(gaps)[1] if gaps else at
        alive.append((offsets[i], offsets[i] + need, last))
    return offsets


def measure(
    fn: Callable[[], object],
    clock: Callable[[], float],
    synchronize: Callable[[], object],
    warmup: int,
    repeats: int,
) -> dict[str, Any]:
    """Time calls of ``fn`` on a device that works on after they return."""
    if warmup < 0:
        raise ValueError(f"warmup is {warmup}, and should be 0 or more")
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}, and should be 1 or more")
    for _ in range(warmup):
        fn()
    times = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        fn()
        synchronize()
        times.append(clock() - start)
    return {"times": times, "median": median(times), "minimum": min(times)}
