"""Right answers to the questions of lab 14, and wrong ones that each must fail."""

from math import ceil, log2


def own_chunk_first(ranks: int, rank: int) -> int:
    """What is sent first is added to by nobody behind it: chunk c sets out from rank c and ends,
    complete, one rank before it."""
    parts = [[{own} for _chunk in range(ranks)] for own in range(ranks)]
    for step in range(ranks - 1):
        sent = [set(parts[own][(own - step) % ranks]) for own in range(ranks)]
        for own in range(ranks):
            parts[own][(own - 1 - step) % ranks] |= sent[own - 1]
    return next(c for c in range(ranks) if len(parts[rank][c]) == ranks)


def partial_sum(rank: int, step: int) -> int:
    """In step s a message has been through s ranks before, and the sender has added its own: s + 1
    of them."""
    held = [[own + 1] * 8 for own in range(8)]
    for at in range(step):
        sent = [held[own][(own - at - 1) % 8] for own in range(8)]
        for own in range(8):
            held[own][(own - at - 2) % 8] += sent[own - 1]
    return held[rank][(rank - step - 1) % 8]


def elements_sent(n: int, world: int, rank: int) -> int:
    """All chunks but its own in the reduce-scatter, all but the next rank's in the all-gather."""
    length = [n // world + (chunk < n % world) for chunk in range(world)]
    scattered = sum(length[(rank - step - 1) % world] for step in range(world - 1))
    return scattered + sum(length[(rank - step) % world] for step in range(world - 1))


def one_receives_first(ranks: int) -> int:
    """Rank 0's left neighbour gets rid of its message, then receives, which frees the next one on
    the left, and so on round the ring."""
    plans = [["receive", "send"]] + [["send", "receive"] for _rank in range(1, ranks)]
    steps = 0
    while any(plans):
        pairs = [
            (at, (at + 1) % ranks)
            for at in range(ranks)
            if plans[at][:1] == ["send"] and plans[(at + 1) % ranks][:1] == ["receive"]
        ]
        for pair in pairs:
            for rank in pair:
                plans[rank].pop(0)
        steps += 1
    return steps


def ring_beats_tree(ranks: int, alpha: int, beta: int) -> float:
    """The ring pays 2 (W - 1) latencies and 2 (W - 1) / W of n, the tree 2 log W of each; n where
    both are equal."""
    deep = ceil(log2(ranks))
    latency = (2 * (ranks - 1) - 2 * deep) * alpha * 1e-6
    saved_a_byte = (2 * deep - 2 * (ranks - 1) / ranks) / (beta * 1e9)
    return latency / saved_a_byte / 1e6


def small_message(ranks: int) -> list[str]:
    """1, 2 log W, W - 1 and 2 (W - 1) latencies."""
    latencies = {
        "one message between two ranks": 1,
        "all-reduce by a tree": 2 * ceil(log2(ranks)),
        "all-gather by a ring": ranks - 1,
        "all-reduce by a ring": 2 * (ranks - 1),
    }
    return sorted(latencies, key=lambda name: latencies[name])


def pairs_seen(rank: int, tokens: int) -> int:
    """All tokens of the chunks before, for each of its queries, and its own chunk as far as each:
    r T^2 + T (T + 1) / 2."""
    return sum(query + 1 for query in range(rank * tokens, (rank + 1) * tokens))


_STRIPED = "token t to rank t modulo {ranks}"
_ZIGZAG = (
    "twice as many chunks as ranks, to rank r the r-th from the front and the r-th from the back"
)
_REVERSED = "one chunk a rank, the last chunk to rank 0, the first to the last rank"
_HALVES = (
    "twice as many chunks as ranks, to rank r the r-th from the front and the r-th of the second"
    " half"
)
_SHORTER = "one chunk a rank, and shorter chunks to the front"


def balanced(ranks: int) -> set[str]:
    """An early chunk and a late one see as much together for every rank, and so does every W-th
    token. Shorter chunks in front would make it worse: they see least."""
    text = ranks * 1000
    half = text // (2 * ranks)
    owners = {
        _STRIPED: lambda t: t % ranks,
        _ZIGZAG: lambda t: min(t // half, 2 * ranks - 1 - t // half),
        _REVERSED: lambda t: ranks - 1 - t // (2 * half),
        _HALVES: lambda t: t // half % ranks,
        _SHORTER: lambda t: min(ranks - 1, int((t / text) ** 0.5 * ranks)),
    }
    found = set[str]()
    for name, owner in owners.items():
        work = [0] * ranks
        for token in range(text):
            work[owner(token)] += token + 1
        if max(work) < 1.01 * min(work):
            found.add(name)
    return found


def ring_attention_bytes(ranks: int, kv_heads: int, tokens: int, head_dim: int) -> int:
    """W - 1 messages, each with keys and values of a chunk, 2 bytes a number."""
    return (ranks - 1) * 2 * kv_heads * tokens * head_dim * 2


def interleaved_bubble(stages: int, microbatches: int, chunks: int) -> float:
    """The pipeline fills and drains in p - 1 steps of a chunk, (p - 1) / v of a microbatch."""
    waits = (stages - 1) / chunks
    return 100 * waits / (microbatches + waits)


def microbatches_needed(stages: int, percent: int) -> int:
    """p - 1 of m + p - 1 are idle."""
    count = 1
    while 100 * (stages - 1) > percent * (count + stages - 1):
        count += 1
    return count


def saved_memory(stages: int, stage: int, microbatches: int, gib: float) -> float:
    """GPipe keeps all m, 1F1B no more than are under way behind this stage: p - r."""
    return (microbatches - min(microbatches, stages - stage)) * gib


RIGHT = {
    "elements_sent": [
        """def elements_sent(n, world, rank):
    mine = n // world
    if rank < n % world:
        mine += 1
    after = (rank + 1) % world
    right = n // world
    if after < n % world:
        right += 1
    return 2 * n - mine - right""",
        """def elements_sent(n, world, rank):
    sizes = [(n + world - 1 - c) // world for c in range(world)]
    sent = 0
    for s in range(world - 1):
        sent += sizes[(rank - s - 1) % world] + sizes[(rank - s) % world]
    return sent""",
    ],
    "ring_attention_bytes": [
        "4 * (ranks - 1) * kv_heads * tokens * head_dim",
        "2*2*ranks*kv_heads*tokens*head_dim - 4*kv_heads*tokens*head_dim",
    ],
}

WRONG = {
    "own_chunk_first": [
        lambda ranks, rank: rank,
        lambda ranks, rank: rank - 1,
        lambda ranks, rank: (rank - ranks + 2) % ranks,
    ],
    "partial_sum": [
        lambda rank, step: sum(range(rank - step + 2, rank + 2)),  # s ranks
        lambda rank, step: sum(range(rank - step, rank + 2)),  # s + 2
        lambda rank, step: (rank + 1) * (step + 1),
        36,
    ],
    "elements_sent": [
        "def elements_sent(n, world, rank):\n    return 2 * (world - 1) * (n // world)",
        "def elements_sent(n, world, rank):\n    return 2 * (world - 1) * n / world",
        """def elements_sent(n, world, rank):
    mine = n // world
    if rank < n % world:
        mine += 1
    return 2 * (n - mine)""",
        """def elements_sent(n, world, rank):
    sizes = [n // world + (1 if c < n % world else 0) for c in range(world)]
    return 2 * n - sizes[rank] - sizes[(rank - 1) % world]""",
    ],
    "one_receives_first": [
        2,
        lambda ranks: ranks - 1,
        lambda ranks: 2 * ranks,
        lambda ranks: ranks + 1,
    ],
    "ring_beats_tree": [
        # the ring's bytes forgotten
        lambda ranks, alpha, beta: (ranks - 1 - log2(ranks)) * alpha * beta / log2(ranks) / 1e3,
        lambda ranks, alpha, beta: alpha * beta / 1e3,  # where a message is half latency
        lambda ranks, alpha, beta: 2 * (ranks - 1) * alpha * beta / 1e3,
    ],
    "small_message": [
        [
            "one message between two ranks",
            "all-gather by a ring",
            "all-reduce by a ring",
            "all-reduce by a tree",
        ],
        [
            "one message between two ranks",
            "all-gather by a ring",
            "all-reduce by a tree",
            "all-reduce by a ring",
        ],
    ],
    "pairs_seen": [
        lambda rank, tokens: (rank + 1) * tokens**2,  # its own chunk whole
        lambda rank, tokens: rank * tokens**2 + tokens * (tokens - 1) // 2,  # not itself
        lambda rank, tokens: (rank + 1) * tokens * (tokens + 1) // 2,
    ],
    "balanced": [
        {_ZIGZAG},
        {_STRIPED},
        {_STRIPED, _ZIGZAG, _HALVES},
        {_ZIGZAG, _SHORTER},
        {_REVERSED},
    ],
    "ring_attention_bytes": [
        "4 * ranks * kv_heads * tokens * head_dim",
        "2 * (ranks - 1) * kv_heads * tokens * head_dim",
        "2 * (ranks - 1) * 4 * kv_heads * tokens * head_dim",
        "4 * (ranks - 1) / ranks * kv_heads * tokens * head_dim",
    ],
    "interleaved_bubble": [
        lambda stages, microbatches, chunks: 100 * (stages - 1) / (microbatches + stages - 1),
        lambda stages, microbatches, chunks: (
            100 * stages / chunks / (microbatches + stages / chunks)
        ),
        lambda stages, microbatches, chunks: 100 * (stages - 1) / microbatches,
    ],
    "microbatches_needed": [
        lambda stages, percent: (stages - 1) * 100 // percent,  # of m alone
        lambda stages, percent: microbatches_needed(stages, percent) - 1,
        lambda stages, percent: microbatches_needed(stages + 1, percent),  # p for p - 1
    ],
    "saved_memory": [
        lambda stages, stage, microbatches, gib: (microbatches - stages) * gib,  # stage 0
        lambda stages, stage, microbatches, gib: (stages - stage) * gib,  # what is kept
        lambda stages, stage, microbatches, gib: (microbatches - stages + stage - 1) * gib,
        lambda stages, stage, microbatches, gib: (microbatches - stage - 1) * gib,
    ],
}

CASES = {
    "elements_sent": [
        (10, 1, 0),
        (8, 2, 1),
        (5, 3, 0),
        (5, 3, 1),
        (5, 3, 2),
        (2, 4, 0),
        (2, 4, 1),
        (2, 4, 3),
        (0, 3, 1),
        (1003, 8, 2),
        (1003, 8, 7),
    ],
}
