"""Lab 14, model answer: a ring in a loop, two sums for a vocabulary, four orders and a price list.

In the ring each rank speaks to its right neighbour alone and listens to its left one; what travels
is always one part of the whole, so every link is busy in every step.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

# An item of a schedule: ["F", "B" or "W", microbatch, chunk].
Schedule = list[list[list[Any]]]  # per stage, its items in order

RING_STEPS = {"reduce_scatter": 1, "all_gather": 1, "all_to_all": 1, "all_reduce": 2}
BUS_SHARES = {**RING_STEPS, "broadcast": None, "reduce": None}


# --- Task 1: reduce_scatter ------------------------------------------------------------------


def chunks(n: int, world: int) -> list[list[int]]:
    """Return [start, stop] of each rank's chunk; the first n % world are one longer."""
    size, longer = divmod(n, world)
    starts = [rank * size + min(rank, longer) for rank in range(world + 1)]
    return [list(pair) for pair in pairwise(starts)]


def reduce_scatter(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [the rank's chunk]
    """Return the rank's chunk of the sum of all ranks' x."""
    rank, world = peer.rank, peer.world
    bounds = chunks(len(x), world)
    start, stop = bounds[(rank - 1) % world]
    total = x[start:stop].clone()
    for step in range(world - 1):
        received = peer.exchange(total, (rank + 1) % world, (rank - 1) % world)
        start, stop = bounds[(rank - step - 2) % world]
        total = received + x[start:stop]
    return total


# --- Task 2: all_gather ----------------------------------------------------------------------


def all_gather(
    peer: Any,
    chunk: Tensor,  # [the rank's chunk]
    n: int,
) -> Tensor:  # [n]
    """Return the chunks of all ranks, joined in their order."""
    rank, world = peer.rank, peer.world
    bounds = chunks(n, world)
    whole = chunk.new_empty(n)
    for step in range(world):
        start, stop = bounds[(rank - step) % world]
        whole[start:stop] = chunk
        if step < world - 1:
            chunk = peer.exchange(chunk, (rank + 1) % world, (rank - 1) % world)
    return whole


# --- Task 3: all_reduce ----------------------------------------------------------------------


def all_reduce(
    peer: Any,
    x: Tensor,  # [n]
) -> Tensor:  # [n]
    """Return the sum of all ranks' x."""
    return all_gather(peer, reduce_scatter(peer, x), len(x))


# --- Task 4: vocabulary ----------------------------------------------------------------------


def vocab_embedding(
    peer: Any,
    tokens: Tensor,  # int64 [N]
    shard: Tensor,  # [V / W, E], rows start and following of the table
    start: int,
) -> Tensor:  # [N, E]
    """Return the tokens' rows of the whole table."""
    row, own = _local(tokens, start, len(shard))
    return peer.all_reduce(shard[row].masked_fill(~own[:, None], 0), "sum")


def vocab_cross_entropy(
    peer: Any,
    logits: Tensor,  # [N, V / W], columns start and following
    targets: Tensor,  # int64 [N]
    start: int,
) -> tuple[Tensor, Tensor]:  # float32 [N], [N, V / W]
    """Return each row's loss, and the rank's columns of the gradient of their sum."""
    scores = logits.float()
    top = peer.all_reduce(scores.amax(-1), "max")
    scores = scores - top[:, None]
    masses = scores.exp()
    column, own = _local(targets, start, logits.shape[1])
    hit = scores.gather(1, column[:, None])[:, 0].masked_fill(~own, 0)
    total, score = peer.all_reduce(torch.stack([masses.sum(-1), hit]), "sum")
    gradient = masses / total[:, None]
    gradient.scatter_add_(1, column[:, None], -own[:, None].float())
    return total.log() - score, gradient.to(logits.dtype)


def _local(ids: Tensor, start: int, size: int) -> tuple[Tensor, Tensor]:
    """Return where ids lie in the rank's part, 0 for foreign ones, and which are its own."""
    local = ids - start
    own = (local >= 0) & (local < size)
    return local.where(own, 0), own


# --- Task 5: ring_attention ------------------------------------------------------------------


def ring_attention(
    peer: Any,
    q: Tensor,  # [H, T, D]
    k: Tensor,  # [G, T, D]
    v: Tensor,  # [G, T, D]
    causal: bool,
) -> Tensor:  # [H, T, D]
    """Attend from the rank's tokens to those of all ranks, whose keys and values come round."""
    rank, world = peer.rank, peer.world
    heads, length, width = q.shape
    groups = len(k)
    # Query heads of one key head are rows of one product.
    queries = q.float().reshape(groups, -1, width) * width**-0.5
    top = queries.new_full((*queries.shape[:2], 1), -torch.inf)
    mass = torch.zeros_like(top)
    out = torch.zeros_like(queries)
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    travelling = torch.stack([k, v])
    for step in range(world):
        source = (rank - step) % world
        if not causal or source <= rank:
            keys, values = travelling.float()
            scores = queries @ keys.mT
            if causal and source == rank:
                scores.view(groups, -1, length, length).masked_fill_(future, -torch.inf)
            highest = torch.maximum(top, scores.amax(-1, keepdim=True))
            weights = (scores - highest).exp()
            shrink = (top - highest).exp()
            mass = mass * shrink + weights.sum(-1, keepdim=True)
            out = out * shrink + weights @ values
            top = highest
            del keys, values, scores, weights
        if step < world - 1:
            travelling = peer.exchange(travelling, (rank + 1) % world, (rank - 1) % world)
    return (out / mass).reshape(heads, length, width).to(q.dtype)


# --- Task 6: schedules -----------------------------------------------------------------------


def gpipe(stages: int, microbatches: int) -> Schedule:
    """Return for each stage all forwards, then all backwards."""
    everything = range(microbatches)
    order = [[kind, microbatch, 0] for kind in "FB" for microbatch in everything]
    return [[list(item) for item in order] for _ in range(stages)]


def one_f_one_b(stages: int, microbatches: int) -> Schedule:
    """Return a schedule in which a stage goes back as soon as it can."""
    forwards = backwards = [(microbatch, 0) for microbatch in range(microbatches)]
    return [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]


def interleaved(stages: int, microbatches: int, chunks: int) -> Schedule:
    """Return a schedule of several chunks a stage; microbatches % stages != 0 is a ValueError."""
    if microbatches % stages:
        raise ValueError(f"microbatches={microbatches} is not a multiple of {stages} stages")
    # Rounds of as many microbatches as there are stages, each through all chunks.
    forwards = [
        (first + place, chunk)
        for first in range(0, microbatches, stages)
        for chunk in range(chunks)
        for place in range(stages)
    ]
    backwards = [(microbatch, chunks - 1 - chunk) for microbatch, chunk in forwards]
    ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages for stage in range(stages)]
    return [_alternate(forwards, backwards, count) for count in ahead]


def zero_bubble(stages: int, microbatches: int) -> Schedule:
    """Return ZB-H1: 1F1B whose weight gradients fill the time in which a stage would wait."""
    schedule: Schedule = []
    for stage, order in enumerate(one_f_one_b(stages, microbatches)):
        items: list[list[Any]] = []
        late = 0  # weight gradients that are owed
        last = 0
        for kind, microbatch, chunk in order:
            items.append([kind, microbatch, chunk])
            late += kind == "B"
            # It may owe as many as there are stages before it: these wait for its backward.
            if late > stage:
                items.append(["W", last, 0])
                last, late = last + 1, late - 1
        items += [["W", microbatch, 0] for microbatch in range(last, microbatches)]
        schedule.append(items)
    return schedule


def _alternate(
    forwards: list[tuple[int, int]], backwards: list[tuple[int, int]], ahead: int
) -> list[list[Any]]:
    """Go forward so many times, then forward and back in turn, then back."""
    order = [["F", *item] for item in forwards[:ahead]]
    for forward, backward in zip(forwards[ahead:], backwards, strict=False):
        order += [["F", *forward], ["B", *backward]]
    done = max(0, len(forwards) - ahead)
    return order + [["B", *item] for item in backwards[done:]]


def simulate(
    schedule: Schedule, forward: float, backward: float, hop: float = 0.0
) -> dict[str, Any]:
    """Return "makespan", "bubble" and "peak" of a schedule; a deadlock is a ValueError."""
    stages = len(schedule)
    items = [item for order in schedule for item in order]
    count = 1 + max((chunk for _, _, chunk in items), default=0)
    split = 1 + any(kind == "W" for kind, _, _ in items)
    times = {"F": forward / count, "B": backward / count / split, "W": backward / count / split}
    blocks = stages * count
    ended: dict[tuple[str, int, int], float] = {}  # by kind, microbatch and block
    clocks, places = [0.0] * stages, [0] * stages

    def ready(kind: str, microbatch: int, block: int) -> float | None:
        """Return when all that an item needs is there; None if it is not known yet."""
        needs: list[tuple[tuple[str, int, int], bool]] = []
        if kind == "F" and block > 0:
            needs.append((("F", microbatch, block - 1), stages > 1))
        if kind == "B":
            needs.append((("F", microbatch, block), False))
            if block < blocks - 1:
                needs.append((("B", microbatch, block + 1), stages > 1))
        if kind == "W":
            needs.append((("B", microbatch, block), False))
        if any(need not in ended for need, _ in needs):
            return None
        return max((ended[need] + hop * far for need, far in needs), default=0.0)

    moved = True
    while moved:
        moved = False
        for stage, order in enumerate(schedule):
            while places[stage] < len(order):
                kind, microbatch, chunk = order[places[stage]]
                block = chunk * stages + stage
                start = ready(kind, microbatch, block)
                if start is None:
                    break
                clocks[stage] = max(clocks[stage], start) + times[kind]
                ended[kind, microbatch, block] = clocks[stage]
                places[stage] += 1
                moved = True
    if any(place < len(order) for place, order in zip(places, schedule, strict=True)):
        raise ValueError("the schedule never ends: each stage waits for what another has not done")
    makespan = max(clocks, default=0.0)
    busy = sum(times[kind] for kind, _, _ in items)
    bubble = 1 - busy / (stages * makespan) if makespan else 0.0
    return {"makespan": makespan, "bubble": bubble, "peak": [_peak(order) for order in schedule]}


def _peak(order: list[list[Any]]) -> int:
    """Return how many forwards wait for their backward, at most."""
    held = highest = 0
    for kind, _, _ in order:
        held += {"F": 1, "B": -1}.get(kind, 0)
        highest = max(highest, held)
    return highest


# --- Task 7: cost ----------------------------------------------------------------------------


def seconds(
    op: str,
    nbytes: float,
    world: int,
    alpha: float,
    beta: float,
    algorithm: str = "ring",
    per_node: list[float] | None = None,
) -> float:
    """Return what a collective takes where a message of n bytes takes alpha + n / beta."""
    if op not in RING_STEPS:
        raise ValueError(f"op {op!r} is none of {', '.join(RING_STEPS)}")
    if algorithm not in ("ring", "tree") or (algorithm == "tree" and op != "all_reduce"):
        raise ValueError(f"algorithm {algorithm!r} is none of ours for {op}")
    if per_node is not None:
        size, far_alpha, far_beta = per_node
        if world % size:
            raise ValueError(f"per_node: {world} ranks do not fill nodes of {size}")
        inside = 2 * seconds("reduce_scatter", nbytes, int(size), alpha, beta)
        nodes = int(world // size)
        return inside + seconds("all_reduce", nbytes / size, nodes, far_alpha, far_beta)
    if algorithm == "tree":
        return 2 * (world - 1).bit_length() * (alpha + nbytes / beta)
    return RING_STEPS[op] * (world - 1) * (alpha + nbytes / (world * beta))


def bus_bandwidth(op: str, nbytes: float, world: int, seconds: float) -> float:
    """Return what a link must have carried in bytes/s, whatever the number of ranks."""
    if op not in BUS_SHARES:
        raise ValueError(f"op {op!r} is none of {', '.join(BUS_SHARES)}")
    share = BUS_SHARES[op]
    return nbytes / seconds * (1 if share is None else share * (world - 1) / world)
