"""Oracle of lab 13: what a step takes, by products; what a trace says, by moments.

Nothing here is quick: shapes are listed one by one, and so is each moment between two borders.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

Event = dict[str, Any]

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCH = ("cuda_runtime", "cuda_driver")


class Sizes(Protocol):
    """What counts of a LlamaConfig."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def intermediate_size(self) -> int: ...
    @property
    def num_layers(self) -> int: ...
    @property
    def num_heads(self) -> int: ...
    @property
    def num_kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...


def layer_matrices(config: Sizes) -> dict[str, list[tuple[int, int]]]:
    """Return the shapes [in, out] of a layer's matrices, by what they belong to."""
    model, heads = config.hidden_size, config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    return {
        "qkv": [(model, heads), (model, keys), (model, keys)],
        "output": [(heads, model)],
        "mlp": [
            (model, config.intermediate_size),
            (model, config.intermediate_size),
            (config.intermediate_size, model),
        ],
    }


def step_flops(config: Sizes, batch: int, new: int, context: int) -> dict[str, int]:
    """Count multiplications and additions of every product of a step."""
    counts: dict[str, int] = defaultdict(int)
    for _ in range(config.num_layers):
        for part, matrices in layer_matrices(config).items():
            counts[part] += sum(_product(batch * new, i, o) for i, o in matrices)
        for _ in range(config.num_heads):
            counts["scores"] += batch * _product(new, config.head_dim, context)
            counts["values"] += batch * _product(new, context, config.head_dim)
    counts["head"] = _product(batch * new, config.hidden_size, config.vocab_size)
    return dict(counts)


def _product(rows: int, inner: int, columns: int) -> int:
    """[rows, inner] times [inner, columns]: a multiplication and an addition for each term."""
    return rows * columns * inner * 2


def causal_pairs(new: int, context: int) -> int:
    """Add up what each query sees: the last one sees all keys, the one before it one less."""
    return sum(context - behind for behind in range(new))


def step_bytes(
    config: Sizes,
    batch: int,
    new: int,
    context: int,
    weight_bytes: float = 2.0,
    cache_bytes: float = 2.0,
) -> dict[str, int]:
    """Add up what is read of weights, tensor by tensor, and of the cache, layer by layer."""
    read = config.hidden_size * (batch * new + config.vocab_size)  # of the table, of the head
    read += config.hidden_size  # the last norm
    cache = 0  # of one token of one sequence
    for _ in range(config.num_layers):
        read += sum(i * o for part in layer_matrices(config).values() for i, o in part)
        read += 2 * config.hidden_size
        cache += 2 * config.num_kv_heads * config.head_dim
    return {
        "weights": math.ceil(read * Fraction(weight_bytes)),
        "cache_read": math.ceil(batch * context * cache * Fraction(cache_bytes)),
        "cache_write": math.ceil(batch * new * cache * Fraction(cache_bytes)),
    }


def compute_seconds(flops: float, peak: float) -> Fraction:
    """Return the exact time that operations take."""
    return Fraction(flops) / Fraction(peak)


def is_compute_bound(flops: float, nbytes: float, peak: float, bandwidth: float) -> bool:
    """Compare both times exactly; a tie is compute."""
    return compute_seconds(flops, peak) >= compute_seconds(nbytes, bandwidth)


def compute_bound_batch(
    config: Sizes, context: int, peak: float, bandwidth: float, limit: int
) -> int | None:
    """Try one batch after the other."""
    for batch in range(1, limit + 1):
        flops = sum(step_flops(config, batch, 1, context).values())
        nbytes = sum(step_bytes(config, batch, 1, context).values())
        if is_compute_bound(flops, nbytes, peak, bandwidth):
            return batch
    return None


def tensors(config: Sizes, batch: int, new: int, context: int) -> dict[str, int]:
    """Return the elements of the tensors of a layer."""
    return {
        "scores": math.prod([batch, config.num_heads, new, context]),
        "mlp": math.prod([batch, new, config.intermediate_size]),
        "hidden": math.prod([batch, new, config.hidden_size]),
        "keys": math.prod([batch, config.num_kv_heads, context, config.head_dim]),
    }


def _moments(events: Iterable[Event]) -> list[tuple[float, float]]:
    """Return the times between neighbouring borders."""
    borders = sorted({border for event in events for border in (event["ts"], _end(event))})
    return list(pairwise(borders))


def _end(event: Event) -> float:
    return event["ts"] + event["dur"]


def _by(events: Iterable[Event], *keys: str) -> list[list[Event]]:
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in events:
        groups[tuple(event[key] for key in keys)].append(event)
    return list(groups.values())


def device_busy(events: Sequence[Event]) -> float:
    """Add up the moments of each device in which something of it runs."""
    work = [event for event in events if event.get("cat") in DEVICE]
    return math.fsum(
        stop - start
        for device in _by(work, "pid")
        for start, stop in _moments(device)
        if any(each["ts"] <= start and stop <= _end(each) for each in device)
    )


def self_times(events: Sequence[Event]) -> dict[str, float]:
    """Give each moment of a track to the slice that is open then and began last."""
    times: dict[str, float] = defaultdict(float)
    slices = [event for event in events if event.get("cat") in ("cpu_op", "user_annotation")]
    for track in _by(slices, "pid", "tid"):
        for start, stop in _moments(track):
            open_ = [i for i, e in enumerate(track) if e["ts"] <= start and stop <= _end(e)]
            if open_:
                inner = max(open_, key=lambda i: (track[i]["ts"], -track[i]["dur"], i))
                times[track[inner]["name"]] += stop - start
    return dict(times)


def attribute(events: Sequence[Event]) -> dict[str, float]:
    """Look for the launch of each piece of work, and then for what is around that."""
    times: dict[str, float] = defaultdict(float)
    for event in events:
        if event.get("cat") in DEVICE:
            times[_owner(events, event.get("args", {}).get("correlation"))] += event["dur"]
    return dict(times)


def _owner(events: Sequence[Event], correlation: Any) -> str:
    for launch in events:
        numbered = launch.get("args", {}).get("correlation")
        if launch.get("cat") in LAUNCH and correlation is not None and numbered == correlation:
            around = [
                (event["ts"], -event["dur"], i)
                for i, event in enumerate(events)
                if event.get("cat") == "user_annotation"
                and (event["pid"], event["tid"]) == (launch["pid"], launch["tid"])
                and event["ts"] <= launch["ts"]
                and _end(launch) <= _end(event)
            ]
            return events[max(around)[-1]]["name"] if around else ""
    return ""


def peak_memory(events: Sequence[Event]) -> list[Any]:
    """Return the largest sum of any device, and its first ts."""
    peak, at = 0, 0.0
    held: dict[tuple[int, int], int] = {}
    for event in events:
        if event.get("name") == "[memory]":
            device = event["args"]["Device Type"], event["args"]["Device Id"]
            held[device] = held.get(device, 0) + event["args"]["Bytes"]
            if max(held.values()) > peak:
                peak, at = max(held.values()), event["ts"]
    return [peak, at]


def most_alive(plan: Sequence[Sequence[int]], align: int = 64) -> int:
    """Return the largest sum of rounded sizes of [size, first, last] that live at one step."""
    steps = {step for _, first, last in plan for step in (first, last)}
    return max(
        (
            sum(-(-size // align) * align for size, first, last in plan if first <= step <= last)
            for step in steps
        ),
        default=0,
    )


def clashes(plan: Sequence[Sequence[int]], offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of tensors that live at one step and share a byte."""
    found: list[tuple[int, int]] = []
    for j, (size, first, last) in enumerate(plan):
        for i in range(j):
            both = plan[i][1] <= last and first <= plan[i][2]
            start = max(offsets[i], offsets[j])
            stop = min(offsets[i] + plan[i][0], offsets[j] + size)
            if both and start < stop:
                found.append((i, j))
    return found


def placed(plan: Sequence[Sequence[int]], order: Sequence[int], *, tightest: bool) -> list[int]:
    """Place tensors in an order, each in the first gap that is wide enough or in the tightest."""
    offsets: dict[int, int] = {}
    for i in order:
        size, first, last = plan[i]
        beside = [j for j in offsets if plan[j][1] <= last and first <= plan[j][2]]
        starts = [0, *(-(-(offsets[j] + plan[j][0]) // 64) * 64 for j in beside)]
        free: list[tuple[float, int]] = []
        for start in starts:
            above = min((offsets[j] for j in beside if offsets[j] >= start), default=math.inf)
            if not any(offsets[j] < start < offsets[j] + plan[j][0] for j in beside):
                free.append((above - start, start))
        fits = [(width, start) for width, start in free if width >= size]
        offsets[i] = min(fits)[1] if tightest else min(start for _, start in fits)
    return [offsets[i] for i in range(len(plan))]


def honest_plans(plan: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the plans of honest planners: by size or by time, first fit or best fit."""
    by_size = sorted(range(len(plan)), key=lambda i: -plan[i][0])
    by_time = sorted(range(len(plan)), key=lambda i: (plan[i][1], -plan[i][0]))
    by_start = sorted(range(len(plan)), key=lambda i: plan[i][1])
    return [
        placed(plan, order, tightest=tightest)
        for order in (by_size, by_time, by_start)
        for tightest in (False, True)
    ]


def end(plan: Sequence[Sequence[int]], offsets: Sequence[int]) -> int:
    """Return where the last byte of a plan ends."""
    return max((at + size for at, (size, _, _) in zip(offsets, plan, strict=True)), default=0)
