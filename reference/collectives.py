"""What ranks say in a ring, what a pipeline's schedule takes and what a collective costs.

Nothing here sends: a message is written down from its definition, as the sum of the chunks of those
ranks through which it has come. Schedules are graphs of what must end before what, in fractions.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

import torch
from torch import Tensor
from torch.nn.functional import one_hot

Item = tuple[str, int, int]  # kind, microbatch, chunk
Schedule = Sequence[Sequence[Item]]  # per stage


# --- rings -----------------------------------------------------------------------------------


def bounds(n: int, world: int) -> list[list[int]]:
    """Return [start, stop] of each rank's chunk: elements are dealt in turn, then put in order."""
    sizes = [0] * world
    for element in range(n):
        sizes[element % world] += 1
    stops = [sum(sizes[: rank + 1]) for rank in range(world)]
    return [[stop - size, stop] for stop, size in zip(stops, sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Said:
    """What a rank sends, one message a step, and what it has in the end."""

    sent: list[Tensor]
    result: Tensor


def reduce_scatter(xs: Tensor, rank: int) -> Said:  # [W, n], whole numbers
    """Return what a rank says: in step s chunk r - s - 1, summed over ranks r, r - 1 … r - s."""
    world, n = xs.shape
    cuts = [slice(*cut) for cut in bounds(n, world)]
    sent: list[Tensor] = []
    for step in range(world - 1):
        through = [(rank - back) % world for back in range(step + 1)]
        sent.append(xs[through, cuts[(rank - step - 1) % world]].sum(0, dtype=xs.dtype))
    return Said(sent, xs[:, cuts[rank]].sum(0, dtype=xs.dtype))


def all_gather(whole: Tensor, rank: int, world: int) -> Said:  # [n], of which each has a chunk
    """Return what a rank says: in step s chunk r - s."""
    cuts = [slice(*cut) for cut in bounds(len(whole), world)]
    return Said([whole[cuts[(rank - step) % world]] for step in range(world - 1)], whole)


def all_reduce(xs: Tensor, rank: int) -> Said:  # [W, n], whole numbers
    """Return what a rank says: the one, then the other."""
    whole = xs.sum(0, dtype=xs.dtype)
    second = all_gather(whole, rank, len(xs))
    return Said(reduce_scatter(xs, rank).sent + second.sent, whole)


# --- vocabulary ------------------------------------------------------------------------------


def cross_entropy(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:  # [N, V], [N]
    """Return the loss of each row and the gradient of their sum, in float64."""
    wide = logits.double()
    loss = wide.logsumexp(-1) - wide[torch.arange(len(targets)), targets]
    return loss, torch.softmax(wide, -1) - one_hot(targets, logits.shape[1])


# --- schedules -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Played:
    """What a schedule takes."""

    makespan: Fraction
    bubble: Fraction
    peak: list[int]  # of forwards without their backward, per stage


def play(
    schedule: Schedule, forward: Fraction, backward: Fraction, hop: Fraction = Fraction(0)
) -> Played | None:
    """Return what a schedule takes as the longest path through it; None if it never ends."""
    items = {(stage, *item) for stage, order in enumerate(schedule) for item in order}
    stages, chunks = len(schedule), 1 + max((chunk for *_, chunk in items), default=0)
    parts = 2 if any(kind == "W" for _, kind, *_ in items) else 1
    time = {"F": forward / chunks, "B": backward / chunks / parts, "W": backward / chunks / parts}
    before: dict[tuple[int, str, int, int], list[tuple[int, str, int, int]]] = {}
    for stage, order in enumerate(schedule):
        for place, item in enumerate(order):
            needs = list(needed(stage, item, stages, chunks))
            if any(need not in items for need in needs):
                return None
            before[stage, *item] = needs + [(stage, *earlier) for earlier in order[:place][-1:]]
    end: dict[tuple[int, str, int, int], Fraction] = {}
    try:
        for item in TopologicalSorter(before).static_order():
            ends = [end[need] + (hop if need[0] != item[0] else 0) for need in before[item]]
            end[item] = max(ends, default=Fraction(0)) + time[item[1]]
    except CycleError:
        return None
    makespan = max(end.values(), default=Fraction(0))
    busy = sum((time[kind] for _, kind, *_ in items), Fraction(0))
    bubble = 1 - busy / (stages * makespan) if makespan else Fraction(0)
    return Played(makespan, bubble, [most_held(order, "B") for order in schedule])


def needed(stage: int, item: Item, stages: int, chunks: int) -> Iterator[tuple[int, str, int, int]]:
    """Return what an item needs, with its stage: chunk c of stage r is block c * stages + r."""
    kind, microbatch, chunk = item
    block = chunk * stages + stage
    if kind == "F" and block > 0:
        yield ((block - 1) % stages, "F", microbatch, (block - 1) // stages)
    if kind == "B":
        yield (stage, "F", microbatch, chunk)
        if block < stages * chunks - 1:
            yield ((block + 1) % stages, "B", microbatch, (block + 1) // stages)
    if kind == "W":
        yield (stage, "B", microbatch, chunk)


def most_held(order: Sequence[Item], until: str) -> int:
    """Return how many forwards are without their B, or W, at most."""
    return max(
        (
            sum(kind == "F" for kind, *_ in order[:place])
            - sum(kind == until for kind, *_ in order[:place])
            for place in range(1, len(order) + 1)
        ),
        default=0,
    )


def any_order(
    stages: int, microbatches: int, chunks: int, kinds: str, pick: Callable[[int], int]
) -> list[list[Item]]:
    """Return a schedule that ends: each item when all that it needs is there, else in any order.

    ``pick(n)`` draws a number below n.
    """
    left = [
        (stage, kind, microbatch, chunk)
        for stage in range(stages)
        for kind in kinds
        for microbatch in range(microbatches)
        for chunk in range(chunks)
    ]
    done: set[tuple[int, str, int, int]] = set()
    schedule: list[list[Item]] = [[] for _ in range(stages)]
    while left:
        free = [
            item
            for item in left
            if all(need in done for need in needed(item[0], item[1:], stages, chunks))
        ]
        item = free[pick(len(free))]
        left.remove(item)
        done.add(item)
        schedule[item[0]].append(item[1:])
    return schedule


def least_time(
    stages: int, microbatches: int, chunks: int, forward: Fraction, backward: Fraction
) -> Fraction:
    """Return what gpipe, 1F1B and the interleaved schedule take where nothing lies between."""
    return (microbatches + Fraction(stages - 1, chunks)) * (forward + backward)


# --- cost ------------------------------------------------------------------------------------


def ring_seconds(op: str, n: float, world: int, alpha: float, beta: float) -> float:
    """Add the steps of a ring up, one by one: each carries a part of n bytes over every link."""
    rounds = 2 if op == "all_reduce" else 1
    return math.fsum(alpha + n / world / beta for _ in range(rounds * (world - 1)))


def tree_seconds(n: float, world: int, alpha: float, beta: float) -> float:
    """Add the levels of a tree up, each passed on the way to the root and back, all n bytes."""
    levels = 0
    reached = 1
    while reached < world:
        reached *= 2
        levels += 1
    return math.fsum(alpha + n / beta for _ in range(2 * levels))


def node_seconds(
    n: float, world: int, alpha: float, beta: float, size: int, far_alpha: float, far_beta: float
) -> float:
    """Return an all-reduce in three parts: in the node, between nodes on a part, in the node."""
    inside = ring_seconds("reduce_scatter", n, size, alpha, beta)
    between = ring_seconds("all_reduce", n / size, world // size, far_alpha, far_beta)
    return inside + between + ring_seconds("all_gather", n, size, alpha, beta)


def bus_bytes(op: str, n: float, world: int) -> float:
    """Return what each link has to carry of n bytes: NCCL's table of factors."""
    if op in ("broadcast", "reduce"):
        return n
    passes = 2 if op == "all_reduce" else 1
    return n * passes * (world - 1) / world
