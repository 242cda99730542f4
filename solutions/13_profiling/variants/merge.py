"""Intervals are merged first and measured then; a parent keeps what its children leave of it.
Tensors are placed by time, in the first gap.
"""

import gzip
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Collection
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
    """Count the pairs of query and key that a causal mask leaves, of one head and row."""
    _check_step(1, new, context)
    return new * context - new * (new - 1) // 2


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


def read_trace(path):
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opened = gzip.open if zipped else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            trace = json.load(file)
    except (ValueError, EOFError, OSError, zlib.error):
        raise ValueError("the file is not JSON") from None
    if isinstance(trace, dict):
        trace = trace.get("traceEvents")
    if type(trace) is not list:
        raise ValueError("the file has no traceEvents")
    result = []
    for event in trace:
        if "ph" in event and event["ph"] in "Xi" and event["ph"]:
            event = dict(event)
            event["ts"] = _number(event, "ts")
            event["dur"] = _number(event, "dur") if "dur" in event else 0.0
            result.append(event)
    result.sort(key=lambda event: event["ts"])
    return result


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
    merged = defaultdict(list)
    for event in events:
        if event.get("cat") in DEVICE:
            start, end = _span(event)
            known = merged[event["pid"]]
            if known and start <= known[-1][1]:
                known[-1][1] = max(known[-1][1], end)
            else:
                known.append([start, end])
    return sum((end - start for known in merged.values() for start, end in known), 0.0)


def self_times(events):
    times = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        # A time line of pieces [start, end, name], cut wherever something begins inside them.
        pieces, behind = [], []
        for event in track:
            start, end = _span(event)
            while behind and behind[-1][1] <= start:
                pieces.append(behind.pop())
            if behind and behind[-1][0] < start:
                pieces.append((behind[-1][0], start, behind[-1][2]))
            # What is covered comes back where this one ends, if it lasts longer.
            while behind and behind[-1][1] <= end:
                behind.pop()
            if behind:
                behind[-1] = (max(end, behind[-1][0]), behind[-1][1], behind[-1][2])
            behind.append((start, end, event["name"]))
        for start, end, name in pieces + behind:
            times[name] += end - start
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
    placed, offsets = [], [0] * len(tensors)
    for i in sorted(range(len(tensors)), key=lambda i: tensors[i][1]):
        size, first, last = tensors[i]
        taken = sorted((at, at + -(-s // 64) * 64) for at, s, end in placed if end >= first)
        at = 0
        for start, end in taken:
            if at + size <= start:
                break
            at = max(at, end)
        placed.append((at, size, last))
        offsets[i] = at
    return offsets


def measure(fn, clock, synchronize, warmup, repeats):
    if repeats < 1:
        raise ValueError("repeats")
    if warmup < 0:
        raise ValueError("warmup")
    [fn() for _ in range(warmup)]

    def timed():
        synchronize()
        before = clock()
        fn()
        synchronize()
        return clock() - before

    times = [timed() for _ in range(repeats)]
    ordered = sorted(times)
    middle = (ordered[(repeats - 1) // 2] + ordered[repeats // 2]) / 2
    return {"minimum": ordered[0], "median": middle, "times": times}


def _number(event, key):
    if isinstance(event.get(key), (int, float, str)):
        try:
            return float(event[key])
        except ValueError:
            pass
    raise ValueError(f"an event has no {key} that is a number")
