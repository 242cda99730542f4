"""Formulas instead of loops where there are any, and one pass of a stack for all of a track."""

import gzip
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from labs.common import LlamaConfig

Event = dict[str, Any]
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")
ALIGNMENT = 64


def step_flops(config, batch, new, context):
    _check_step(batch, new, context)
    c, bt = config, batch * new
    qd, kd = c.num_heads * c.head_dim, c.num_kv_heads * c.head_dim
    pairs = bt * context * qd
    macs = {
        "qkv": c.num_layers * bt * c.hidden_size * (qd + 2 * kd),
        "scores": c.num_layers * pairs,
        "values": c.num_layers * pairs,
        "output": c.num_layers * bt * c.hidden_size * qd,
        "mlp": c.num_layers * bt * c.hidden_size * c.intermediate_size * 3,
        "head": bt * c.hidden_size * c.vocab_size,
    }
    return {name: 2 * count for name, count in macs.items()}


def causal_pairs(new: int, context: int) -> int:
    """Count the pairs of query and key that a causal mask leaves, of one head and row."""
    _check_step(1, new, context)
    return new * context - new * (new - 1) // 2


def step_bytes(config, batch, new, context, weight_bytes=2.0, cache_bytes=2.0):
    _check_step(batch, new, context)
    c = config
    layer = c.hidden_size * (
        2 * c.num_heads * c.head_dim + 2 * c.num_kv_heads * c.head_dim + 3 * c.intermediate_size + 2
    )
    weights = c.num_layers * layer + c.hidden_size * (1 + batch * new + c.vocab_size)
    row = 2 * batch * c.num_layers * c.num_kv_heads * c.head_dim

    def up(count, width):
        return -(-Fraction(count) * Fraction(width) // 1)

    return {
        "weights": int(up(weights, weight_bytes)),
        "cache_read": int(up(row * context, cache_bytes)),
        "cache_write": int(up(row * new, cache_bytes)),
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
    """Operations are linear in the batch, bytes too: solve for it, exactly."""
    _check_step(1, 1, context)
    _check_device(peak, bandwidth)
    flops = sum(step_flops(config, 1, 1, context).values())
    one = sum(step_bytes(config, 1, 1, context).values())
    more = sum(step_bytes(config, 2, 1, context).values()) - one
    gained = flops / Fraction(peak) - more / Fraction(bandwidth)
    if gained <= 0:
        return None
    batch = max(1, math.ceil((one - more) / Fraction(bandwidth) / gained))
    return batch if batch <= limit else None


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


def attribute(events):
    """One walk over the borders of all tracks: annotations open and close, launches look."""
    marks = []
    for i, event in enumerate(events):
        start, end = (event["ts"], event["ts"] + event.get("dur", 0.0))
        if event.get("cat") == "user_annotation":
            marks.append((start, 0, -event["dur"], i, event))
        elif event.get("cat") in LAUNCH:
            marks.append((start, 1, 0.0, i, event))
    open_, owners = defaultdict(list), {}
    for start, kind, _, _, event in sorted(marks, key=lambda mark: mark[:4]):
        stack = open_[event["pid"], event["tid"]]
        stack[:] = [each for each in stack if each[0] >= start]
        end = event["ts"] + event["dur"]
        if kind == 0:
            stack.append((end, event["name"]))
        elif (number := event.get("args", {}).get("correlation")) is not None:
            names = [name for until, name in stack if until >= end]
            owners[number] = names[-1] if names else ""
    times = defaultdict(float)
    for event in events:
        if event.get("cat") in DEVICE:
            args = event["args"] if "args" in event else {}
            number = args.get("correlation")
            times[owners[number] if number in owners else ""] += event["dur"]
    return {name: time for name, time in times.items() if time}


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
