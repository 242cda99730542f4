"""With numpy: borders sorted as arrays, running maxima, cumulative sums."""

import gzip
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

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
    return new * (context - new) + new * (new + 1) // 2


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


def compute_bound_batch(
    config: LlamaConfig, context: int, peak: float, bandwidth: float, limit: int = 4096
) -> int | None:
    """Return the smallest batch whose decode step is bound by compute, None beyond the limit."""
    _check_step(1, 1, context)
    _check_device(peak, bandwidth)
    for batch in range(1, limit + 1):
        flops = sum(step_flops(config, batch, 1, context).values())
        nbytes = sum(step_bytes(config, batch, 1, context).values())
        if roofline(flops, nbytes, peak, bandwidth)["bound"] == "compute":
            return batch
    return None


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
    busy = 0.0
    work = [event for event in events if event.get("cat") in DEVICE]
    for pid in {event["pid"] for event in work}:
        spans = np.array([_span(event) for event in work if event["pid"] == pid])
        spans = spans[np.argsort(spans[:, 0], kind="stable")]
        known = np.maximum.accumulate(spans[:, 1])
        before = np.concatenate([[-np.inf], known[:-1]])
        busy += float(np.maximum(0, spans[:, 1] - np.maximum(spans[:, 0], before)).sum())
    return busy


def self_times(events: list[Event]) -> dict[str, float]:
    """Return for each name the time in which a slice of it is the innermost of its track."""
    times: dict[str, float] = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        open_: list[tuple[float, str]] = []  # (end, name), innermost last; some may have ended
        now = -math.inf
        spans = [(*_span(event), event["name"]) for event in track]
        for start, end, name in [*spans, (math.inf, math.inf, "")]:
            while open_ and now < start:
                ends, innermost = open_[-1]
                until = max(now, min(start, ends))
                times[innermost] += until - now
                now = until
                if ends <= now:
                    open_.pop()
            now = start
            open_.append((end, name))
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


def largest_tensor(config, batch, new, context):
    _check_step(batch, new, context)
    names = ["scores", "mlp", "hidden", "keys"]
    sizes = [
        batch * config.num_heads * new * context,
        batch * new * config.intermediate_size,
        batch * new * config.hidden_size,
        batch * config.num_kv_heads * context * config.head_dim,
    ]
    best = int(np.argmax(sizes))
    return [names[best], sizes[best]]


def peak_memory(events):
    best = (0, 0.0)
    rows = [event for event in events if event.get("name") == "[memory]"]
    devices = {(row["args"]["Device Type"], row["args"]["Device Id"]) for row in rows}
    for device in devices:
        own = [r for r in rows if (r["args"]["Device Type"], r["args"]["Device Id"]) == device]
        sums = np.cumsum([row["args"]["Bytes"] for row in own])
        at = int(sums.argmax())
        if sums[at] > best[0] or (sums[at] == best[0] > 0 and own[at]["ts"] < best[1]):
            best = int(sums[at]), own[at]["ts"]
    return list(best)


def plan_memory(tensors):
    # Rows of a picture: one for each step, one column for 64 bytes.
    if not tensors:
        return []
    start = min(first for _, first, _ in tensors)
    steps = max(last for _, _, last in tensors) - start + 1
    columns = sum(-(-size // 64) for size, _, _ in tensors) + 1
    taken = np.zeros((steps, columns), dtype=bool)
    offsets = [0] * len(tensors)
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        width = -(-size // 64)
        lived = slice(first - start, last - start + 1)
        used = np.concatenate([[0], np.cumsum(taken[lived].any(0))])
        free = used[width:] == used[: len(used) - width]
        at = int(np.argmax(free))
        taken[lived, at : at + width] = True
        offsets[i] = 64 * at
    return offsets


def measure(fn, clock, synchronize, warmup, repeats):
    for name, value, least in (("warmup", warmup, 0), ("repeats", repeats, 1)):
        if value < least:
            raise ValueError(f"{name} must be {least} at least")
    for _ in range(warmup):
        fn()
    marks = np.zeros((repeats, 2))
    for mark in marks:
        synchronize()
        mark[0] = clock()
        fn()
        synchronize()
        mark[1] = clock()
    times = marks[:, 1] - marks[:, 0]
    return {
        "times": times.tolist(),
        "median": float(np.median(times)),
        "minimum": float(times.min()),
    }
