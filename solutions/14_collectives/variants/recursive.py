"""A variant: each step of a ring is a call of the next one, heads are attended to one by one.

A rank sends, then receives, where its left neighbour has a smaller number, and the other way round
at the seam. Times are longest paths, found by recursion.
"""

import sys
from functools import cache

import numpy as np
import torch


def chunks(n, world):
    sizes = [len(part) for part in np.array_split(np.arange(n), world)]
    return [[sum(sizes[:rank]), sum(sizes[: rank + 1])] for rank in range(world)]


def neighbours(peer):
    return (peer.rank + 1) % peer.world, (peer.rank - 1) % peer.world


def swap(peer, x):
    right, left = neighbours(peer)
    if peer.rank > 0:  # rank 0 breaks the circle: it listens last
        received = peer.recv(left)
        peer.send(x, right)
        return received
    peer.send(x, right)
    return peer.recv(left)


def reduce_scatter(peer, x):
    cuts = chunks(len(x), peer.world)

    def own(number):
        start, stop = cuts[number % peer.world]
        return x[start:stop]

    def sum_of(step):
        """Return the chunk of r - step - 1, summed over step + 1 ranks."""
        if step == 0:
            return own(peer.rank - 1) + 0
        return swap(peer, sum_of(step - 1)) + own(peer.rank - step - 1)

    return deep(peer, sum_of, peer.world - 1)


def all_gather(peer, chunk, n):
    cuts = chunks(n, peer.world)
    whole = torch.zeros(n, dtype=chunk.dtype)

    def place(step):
        part = chunk if step == 0 else swap(peer, place(step - 1))
        start, stop = cuts[(peer.rank - step) % peer.world]
        whole[start:stop] = part
        return part

    deep(peer, place, peer.world - 1)
    return whole


def deep(peer, function, step):
    sys.setrecursionlimit(10_000 + 10 * peer.world)
    return function(step)


def all_reduce(peer, x):
    part = reduce_scatter(peer, x)
    return all_gather(peer, part, x.shape[0])


def vocab_embedding(peer, tokens, shard, start):
    hot = torch.nn.functional.one_hot
    inside = (tokens >= start) & (tokens < start + shard.shape[0])
    where = (tokens - start) * inside
    chosen = hot(where, shard.shape[0]) * inside[:, None]
    return peer.all_reduce(chosen.to(shard.dtype) @ shard, "sum")


def vocab_cross_entropy(peer, logits, targets, start):
    x = logits.float()
    top = peer.all_reduce(torch.max(x, dim=-1)[0], "max")
    x = torch.exp(x - top.unsqueeze(-1))
    rows = torch.arange(len(targets))
    stop = start + logits.shape[1]
    mine = (targets >= start) & (targets < stop)
    score = torch.zeros(len(targets))
    score[mine] = logits[rows[mine], targets[mine] - start].float() - top[mine]
    sums = peer.all_reduce(torch.cat([x.sum(-1)[None], score[None]]), "sum")
    gradient = x / sums[0][:, None]
    gradient[rows[mine], targets[mine] - start] -= 1
    return torch.log(sums[0]) - sums[1], gradient.to(logits.dtype)


def ring_attention(peer, q, k, v, causal):
    heads, length, width = q.shape
    state = [[None] * heads for _ in range(3)]  # maxima, sums, results

    def attend(kv, source):
        if causal and source > peer.rank:
            return
        for head in range(heads):
            keys, values = kv[:, head * len(k) // heads].float()
            scores = q[head].float() @ keys.T / width**0.5
            if causal and source == peer.rank:
                scores += torch.full((length, length), float("-inf")).triu(1)
            m = scores.max(-1, keepdim=True)[0]
            p = torch.exp(scores - m)
            mass, o = p.sum(-1, keepdim=True), p @ values
            if state[0][head] is not None:
                old = state[0][head]
                top = torch.maximum(old, m)
                mass = mass * torch.exp(m - top) + state[1][head] * torch.exp(old - top)
                o = o * torch.exp(m - top) + state[2][head] * torch.exp(old - top)
                m = top
            state[0][head], state[1][head], state[2][head] = m, mass, o

    kv = torch.cat([k[None], v[None]])
    attend(kv, peer.rank)
    for step in range(1, peer.world):
        kv = swap(peer, kv)
        attend(kv, (peer.rank - step) % peer.world)
    return torch.stack([o / mass for o, mass in zip(state[2], state[1], strict=True)]).to(q.dtype)


def gpipe(stages, microbatches):
    return [[(kind, i, 0) for kind in ("F", "B") for i in range(microbatches)]] * stages


def one_f_one_b(stages, microbatches):
    schedule = []
    for stage in range(stages):
        order, f, b = [], 0, 0
        while b < microbatches:
            if f < microbatches and f - b < stages - stage:
                order.append(("F", f, 0))
                f += 1
            else:
                order.append(("B", b, 0))
                b += 1
        schedule.append(order)
    return schedule


def interleaved(stages, microbatches, chunks):
    if microbatches % stages:
        raise ValueError(f"microbatches {microbatches} must be a multiple of {stages}")
    schedule = []
    for stage in range(stages):
        forth = sorted(
            (i // stages, c, i % stages, "F", i) for i in range(microbatches) for c in range(chunks)
        )
        back = sorted(
            (i // stages, -c, i % stages, "B", i)
            for i in range(microbatches)
            for c in range(chunks)
        )
        held = 2 * (stages - stage - 1) + (chunks - 1) * stages + 1
        order, f, b = [], 0, 0
        while b < len(back):
            if f < len(forth) and f - b < held:
                order.append(("F", forth[f][4], forth[f][1]))
                f += 1
            else:
                order.append(("B", back[b][4], -back[b][1]))
                b += 1
        schedule.append(order)
    return schedule


def zero_bubble(stages, microbatches):
    schedule = []
    for stage, plain in enumerate(one_f_one_b(stages, microbatches)):
        order, debt = [], []
        for kind, i, c in plain:
            order.append((kind, i, c))
            if kind == "F":
                continue
            debt.append(i)
            cooling = i >= microbatches - (stages - stage - 1)  # nothing goes forward any more
            if len(debt) > stage or cooling:
                order.append(("W", debt.pop(0), 0))
        schedule.append(order + [("W", i, 0) for i in debt])
    return schedule


def simulate(schedule, forward, backward, hop=0.0):
    sys.setrecursionlimit(100_000)
    p = len(schedule)
    where = {
        (kind, i, c * p + stage): (stage, place)
        for stage, order in enumerate(schedule)
        for place, (kind, i, c) in enumerate(order)
    }
    v = 1 + max((block // p for _, _, block in where), default=0)
    parts = 2 if any(kind == "W" for kind, _, _ in where) else 1
    cost = {"F": forward / v, "B": backward / (parts * v), "W": backward / (parts * v)}
    open_ = set()

    @cache
    def end(stage, place):
        if place < 0:
            return 0.0
        if (stage, place) in open_:
            raise ValueError("schedule: a circle of items")
        open_.add((stage, place))
        kind, i, c = schedule[stage][place]
        block = c * p + stage
        wanted = {
            "F": [("F", i, block - 1)] if block else [],
            "B": [("F", i, block), *([("B", i, block + 1)] if block + 1 < p * v else [])],
            "W": [("B", i, block)],
        }[kind]
        begin = end(stage, place - 1)
        for need in wanted:
            if need not in where:
                raise ValueError(f"schedule: {need} never comes")
            begin = max(begin, end(*where[need]) + hop * (where[need][0] != stage))
        open_.discard((stage, place))
        return begin + cost[kind]

    ends = [end(stage, len(order) - 1) for stage, order in enumerate(schedule)]
    makespan = max(ends)
    busy = sum(cost[kind] for kind, _, _ in where)
    peaks = []
    for order in schedule:
        steps = np.array([{"F": 1, "B": -1, "W": 0}[kind] for kind, _, _ in order] or [0])
        peaks.append(int(steps.cumsum().max()))
    return {
        "makespan": makespan,
        "bubble": (p * makespan - busy) / (p * makespan) if makespan else 0.0,
        "peak": peaks,
    }


def seconds(op, nbytes, world, alpha, beta, algorithm="ring", per_node=None):
    rounds = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "all_to_all": 1}.get(op)
    if rounds is None:
        raise ValueError(f"op: {op!r}")
    if algorithm not in {"ring": rounds, **({"tree": 2} if op == "all_reduce" else {})}:
        raise ValueError(f"algorithm: {algorithm!r}")
    if per_node is not None:
        k = int(per_node[0])
        if world % k:
            raise ValueError(f"per_node: {k} does not divide {world}")
        a, b = per_node[1:]
        steps = 2 * (k - 1), 2 * (world // k - 1)
        return steps[0] * (alpha + nbytes / k / beta) + steps[1] * (a + nbytes / world / b)
    if algorithm == "tree":
        return 0.0 if world == 1 else 2 * len(bin(world - 1)[2:]) * (alpha + nbytes / beta)
    return float(sum(alpha + nbytes / (world * beta) for _ in range(rounds * (world - 1))))


def bus_bandwidth(op, nbytes, world, seconds):
    match op:
        case "all_reduce":
            factor = 2 * (world - 1) / world
        case "all_gather" | "reduce_scatter" | "all_to_all":
            factor = (world - 1) / world
        case "broadcast" | "reduce":
            factor = 1.0
        case _:
            raise ValueError(f"op: {op!r}")
    return nbytes * factor / seconds
