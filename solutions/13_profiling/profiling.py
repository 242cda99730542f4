"""Lab 13, model answer: what a step must take, and what a trace says that it took.

Letters: B sequences, T new tokens, S context with the new ones, H and G heads, D head width,
E model width, F feed-forward width, V vocabulary, L layers. Times of traces are microseconds.
"""

import gzip
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
LAUNCH = ("cuda_runtime", "cuda_driver")  # Triton launches through the driver
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


def device_busy(events: list[Event]) -> float:
    """Return how long the devices worked: what streams do at once counts once a device."""
    busy = 0.0
    ends: dict[Any, float] = defaultdict(lambda: -math.inf)
    for event in events:
        if event.get("cat") in DEVICE:
            end, known = event["ts"] + event["dur"], ends[event["pid"]]
            busy += max(0.0, end - max(event["ts"], known))
            ends[event["pid"]] = max(end, known)
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


def plan_memory(tensors: list[list[int]]) -> list[int]:
    """Place tensors, the largest first, each as low as those allow that live when it does."""
    offsets: dict[int, int] = {}
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
        size, first, last = tensors[i]
        beside = [j for j in offsets if tensors[j][1] <= last and first <= tensors[j][2]]
        at = 0
        for j in sorted(beside, key=offsets.__getitem__):
            if offsets[j] - at >= size:
                break
            end = offsets[j] + tensors[j][0]
            at = max(at, math.ceil(end / ALIGNMENT) * ALIGNMENT)
        offsets[i] = at
    return [offsets[i] for i in range(len(tensors))]


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
