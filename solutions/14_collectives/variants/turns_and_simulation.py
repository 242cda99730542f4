"""A variant: ranks take turns, parts are merged by their log-sum-exp, schedules come from a clock.

Even ranks send first and odd ones receive first. In 1F1B a stage takes, whenever it is free, what
is ready, a backward before a forward.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Work = tuple[str, int, int]


def chunks(n: int, world: int) -> list[list[int]]:
    bounds, start = [], 0
    for rank in range(world):
        stop = start + n // world + (1 if rank < n % world else 0)
        bounds.append([start, stop])
        start = stop
    return bounds


def pass_on(peer, x: Tensor) -> Tensor:
    """Give x to the right neighbour and return what the left one gives."""
    right, left = (peer.rank + 1) % peer.world, (peer.rank + peer.world - 1) % peer.world
    if peer.rank % 2 == 0:
        peer.send(x, right)
        return peer.recv(left)
    received = peer.recv(left)
    peer.send(x, right)
    return received


def reduce_scatter(peer, x: Tensor) -> Tensor:
    parts = [x[a:b].clone() for a, b in chunks(x.numel(), peer.world)]
    for step in range(peer.world - 1):
        sent, met = (peer.rank - step - 1) % peer.world, (peer.rank - step - 2) % peer.world
        parts[met] += pass_on(peer, parts[sent])
    return parts[peer.rank]


def all_gather(peer, chunk: Tensor, n: int) -> Tensor:
    parts = {peer.rank: chunk}
    for step in range(peer.world - 1):
        parts[(peer.rank - step - 1) % peer.world] = pass_on(
            peer, parts[(peer.rank - step) % peer.world]
        )
    return torch.cat([parts[rank] for rank in range(peer.world)])


def all_reduce(peer, x: Tensor) -> Tensor:
    return all_gather(peer, reduce_scatter(peer, x), x.numel())


def vocab_embedding(peer, tokens: Tensor, shard: Tensor, start: int) -> Tensor:
    rows = torch.zeros(len(tokens), shard.shape[1], dtype=shard.dtype)
    own = ((tokens >= start) & (tokens < start + len(shard))).nonzero()[:, 0]
    rows[own] = shard[tokens[own] - start]
    return peer.all_reduce(rows, "sum")


def vocab_cross_entropy(peer, logits: Tensor, targets: Tensor, start: int):
    wide = logits.to(torch.float32)
    shifted = wide - peer.all_reduce(wide.max(1).values, "max").unsqueeze(1)
    hot = targets[:, None] == torch.arange(start, start + logits.shape[1])
    score = torch.where(hot, shifted, 0.0).sum(1)
    mass = shifted.logsumexp(1).exp()
    mass, score = peer.all_reduce(torch.stack((mass, score)), "sum").unbind()
    loss = mass.log() - score
    gradient = (shifted - mass.log()[:, None]).exp() - hot.float()
    return loss, gradient.to(logits.dtype)


def ring_attention(peer, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    repeats = q.shape[0] // k.shape[0]
    length = q.shape[1]
    out = lse = None
    pair = torch.stack((k, v))
    for step in range(peer.world):
        source = (peer.rank + peer.world - step) % peer.world
        if source <= peer.rank or not causal:
            keys, values = pair.float().repeat_interleave(repeats, dim=1)
            scores = torch.einsum("htd,hsd->hts", q.float(), keys) / math.sqrt(q.shape[-1])
            if causal and source == peer.rank:
                seen = torch.ones(length, length, dtype=torch.bool).tril()
                scores = torch.where(seen, scores, -math.inf)
            part_lse = scores.logsumexp(-1)
            part = torch.softmax(scores, -1) @ values
            if out is None:
                out, lse = part, part_lse
            else:
                both = torch.logaddexp(lse, part_lse)
                out = (
                    out * (lse - both).exp()[..., None] + part * (part_lse - both).exp()[..., None]
                )
                lse = both
        if step + 1 < peer.world:
            pair = pass_on(peer, pair)
    return out.to(q.dtype)


def needs(work: Work, stage: int, stages: int, count: int) -> Iterator[tuple[int, Work]]:
    """Say which work of which stage an item needs."""
    kind, m, c = work
    if kind == "W":
        yield stage, ("B", m, c)
        return
    if kind == "B":
        yield stage, ("F", m, c)
    step = -1 if kind == "F" else 1
    block = c * stages + stage + step
    if 0 <= block < stages * count:
        yield block % stages, (kind, m, block // stages)


def greedy(
    stages: int, microbatches: int, room: Callable[[int, list[Work]], bool]
) -> list[list[list]]:
    """Let all clocks go by a second: each free stage takes what is ready, B before F."""
    times = {"F": 1, "B": 2}
    left = [{k: list(range(microbatches)) for k in "FB"} for _ in range(stages)]
    done: list[list[Work]] = [[] for _ in range(stages)]
    ended: dict[tuple[int, Work], int] = {}
    free = [0] * stages
    now = 0
    while any(items for stage in left for items in stage.values()):
        for stage in range(stages):
            if free[stage] > now:
                continue
            for kind in "BF":
                if not left[stage].get(kind):
                    continue
                work = (kind, left[stage][kind][0], 0)
                if any(ended.get(need, now + 1) > now for need in needs(work, stage, stages, 1)):
                    continue
                if kind == "F" and not room(stage, done[stage]):
                    continue
                left[stage][kind].pop(0)
                done[stage].append(work)
                free[stage] = ended[stage, work] = now + times[kind]
                break
        now += 1
    return [[list(work) for work in order] for order in done]


def open_forwards(done: list[Work], until: str) -> int:
    return sum((kind == "F") - (kind == until) for kind, _, _ in done)


def gpipe(stages: int, microbatches: int) -> list[list[list]]:
    forward = [["F", m, 0] for m in range(microbatches)]
    backward = [["B", m, 0] for m in reversed(range(microbatches))]
    return [forward + backward for _ in range(stages)]


def one_f_one_b(stages: int, microbatches: int) -> list[list[list]]:
    return greedy(
        stages, microbatches, lambda stage, done: open_forwards(done, "B") < stages - stage
    )


def zero_bubble(stages: int, microbatches: int) -> list[list[list]]:
    schedule = []
    for stage in range(stages):
        counts = {"F": 0, "B": 0, "W": 0}
        order = []

        def do(kind: str, counts=counts, order=order) -> None:
            order.append([kind, counts[kind], 0])
            counts[kind] += 1

        while counts["F"] < min(microbatches, stages - stage - 1):
            do("F")
        while counts["F"] < microbatches:
            do("F")
            do("B")
            if counts["B"] - counts["W"] > stage:
                do("W")
        while counts["B"] < microbatches:
            do("B")
            do("W")
        while counts["W"] < microbatches:
            do("W")
        schedule.append(order)
    return schedule


def interleaved(stages: int, microbatches: int, chunks: int) -> list[list[list]]:
    if microbatches % stages != 0:
        raise ValueError("microbatches must be a multiple of stages")
    total = microbatches * chunks

    def item(number: int, back: bool) -> list:
        round_, place = divmod(number, stages * chunks)
        chunk, place = divmod(place, stages)
        return [round_ * stages + place, chunks - 1 - chunk if back else chunk]

    schedule = []
    for stage in range(stages):
        warmup = min(total, 2 * (stages - stage - 1) + (chunks - 1) * stages)
        order = []
        for number in range(total + warmup):
            if number < total:
                order.append(["F", *item(number, False)])
            if number >= warmup:
                order.append(["B", *item(number - warmup, True)])
        schedule.append(order)
    return schedule


def simulate(schedule, forward, backward, hop=0.0):
    stages = len(schedule)
    works = [tuple(item) for order in schedule for item in order]
    count = max((c for _, _, c in works), default=0) + 1
    backward = backward / 2 if any(kind == "W" for kind, _, _ in works) else backward
    times = {"F": forward / count, "B": backward / count, "W": backward / count}
    queues = [[tuple(item) for item in order] for order in schedule]
    ended: dict[tuple[int, Work], float] = {}
    clock = [0.0] * stages
    while any(queues):
        ready = [
            stage
            for stage, queue in enumerate(queues)
            if queue and all(need in ended for need in needs(queue[0], stage, stages, count))
        ]
        if not ready:
            raise ValueError("the schedule has a deadlock")
        for stage in ready:
            work = queues[stage].pop(0)
            begin = clock[stage]
            for need in needs(work, stage, stages, count):
                begin = max(begin, ended[need] + (hop if need[0] != stage else 0.0))
            clock[stage] = ended[stage, work] = begin + times[work[0]]
    makespan = max(clock)
    idle = stages * makespan - sum(times[kind] for kind, _, _ in works)
    peaks = []
    for order in schedule:
        peaks.append(max((open_forwards(order[:n], "B") for n in range(len(order) + 1)), default=0))
    bubble = idle / (stages * makespan) if makespan else 0.0
    return {"makespan": makespan, "bubble": bubble, "peak": peaks}


def seconds(op, nbytes, world, alpha, beta, algorithm="ring", per_node=None):
    if op not in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        raise ValueError(f"unknown op: {op}")
    if algorithm == "tree" and op == "all_reduce":
        return 2 * math.ceil(math.log2(world)) * (alpha + nbytes / beta)
    if algorithm != "ring":
        raise ValueError(f"unknown algorithm: {algorithm}")
    if per_node:
        k, far_alpha, far_beta = per_node
        if world % k:
            raise ValueError("per_node does not divide world")
        near = seconds("all_gather", nbytes, k, alpha, beta)
        far = seconds("all_reduce", nbytes / k, world // k, far_alpha, far_beta)
        return near + far + near
    steps = (world - 1) * (2 if op == "all_reduce" else 1)
    return steps * (alpha + nbytes / world / beta)


def bus_bandwidth(op, nbytes, world, seconds):
    share = (world - 1) / world
    factors = {"all_reduce": 2 * share, "broadcast": 1, "reduce": 1}
    factors |= dict.fromkeys(("all_gather", "reduce_scatter", "all_to_all"), share)
    if op not in factors:
        raise ValueError(f"op {op} is not known")
    return factors[op] * nbytes / seconds
