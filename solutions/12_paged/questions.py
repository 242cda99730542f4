"""Right answers to the questions of lab 12, and wrong ones that each must fail."""


def _blocks(tokens: int, block: int) -> int:
    return len(range(0, tokens, block))


def next_block(tokens: int, block: int) -> int:
    """The places left in the last block are filled first; the call behind them takes a block."""
    calls = 1
    while _blocks(tokens + calls, block) == _blocks(tokens, block):
        calls += 1
    return calls


def sequences_fit(gib: int, tokens: int) -> int:
    """A token takes 128 KiB, a block 2 MiB; a sequence has whole blocks."""
    block = 16 * 2 * 32 * 8 * 128 * 2
    return gib * 2**30 // block // _blocks(tokens, 16)


def last_block(block: int, mean: int) -> float:
    """0 to P - 1 places are empty, (P - 1) / 2 on average, of as many more than the tokens."""
    empty = sum(range(block)) / block
    return 100 * empty / (mean + empty)


def system_prompt(system: int, question: int, requests: int) -> int:
    """Only full blocks of the common tokens are shared; what is left of them is each one's own."""
    keys: set[tuple[int, ...]] = set()
    for request in range(requests):
        tokens = [0] * system + [1 + request] * question
        for stop in range(16, len(tokens) + 16, 16):
            own = () if stop <= len(tokens) else (request,)  # a block that is not full
            keys.add((stop, *tokens[:stop], *own))
    return len(keys)


def twins(tokens: int, children: int) -> int:
    """The full blocks stay shared. All but the last who appends copy the partial one; the last goes
    on in place."""
    full = tokens // 16
    return full + children + 1


def steps_needed(lengths: list[int], rows: int) -> int:
    """A request begins when the first of the rows is free; the last row decides."""
    free = [0] * rows
    for length in lengths:
        row = free.index(min(free))
        free[row] += length
    return max(free)


def swap_ms(tokens: int, rate: int) -> float:
    """128 KiB a token, out and back."""
    nbytes = 2 * 32 * 8 * 128 * 2 * tokens
    return 2 * nbytes / (rate * 1e9) * 1e3


def recompute_ms(billions: int, tokens: int) -> float:
    """A multiply-add, so two operations, for each weight and token."""
    return 2 * billions * 1e9 * tokens / 500e12 * 1e3


def attention_bytes(tokens: int, block_size: int, kv_heads: int, head_dim: int) -> int:
    """Keys and values of 2 bytes, and an entry of 4 bytes for each block, the last one too."""
    return 2 * tokens * kv_heads * head_dim * 2 + 4 * _blocks(tokens, block_size)


def pool_shape(sequences: int, tokens: int, heads: int, width: int) -> tuple[int, ...]:
    """Blocks are whole for each sequence, and hold key/value heads, not query heads."""
    return (sequences * _blocks(tokens, 32), 32, heads, width)


_REPLACED = (
    "keys and values behind the length are replaced by 0 before any product, scores there by -inf"
)
_GATHERED = "only the places below the length are gathered, and nothing else is ever loaded"
_SCORES = "scores behind the length are replaced by -inf, values stay as they are"
_LESS = "1e9 is subtracted from the scores behind the length"
_TIMES = "keys and values are multiplied by 1 before the length and by 0 behind it"


def nan_kept_out() -> set[str]:
    """NaN times 0 and NaN less anything are NaN: it must be replaced, or never be loaded, and that
    in values too."""
    return {_REPLACED, _GATHERED}


def least_memory_first() -> list[str]:
    """15 blocks of 40 are 600 places, 38 of 16 608, 2 of 310 620, 10 of 64 640, 3 of 256 768."""
    sizes = sorted([16, 40, 64, 256, 310], key=lambda size: _blocks(600, size) * size)
    return [f"P = {size}" for size in sizes]


RIGHT = {
    "steps_needed": [
        """def steps_needed(lengths, rows):
    left = []
    waiting = 0
    steps = 0
    while waiting < len(lengths) or len(left) > 0:
        while len(left) < rows and waiting < len(lengths):
            left = left + [lengths[waiting]]
            waiting += 1
        left = [n - 1 for n in left if n > 1]
        steps += 1
    return steps""",
        """def steps_needed(lengths, rows):
    ends = [0] * rows
    for n in lengths:
        ends = sorted(ends)
        ends[0] = ends[0] + n
    return max(ends)""",
    ],
    "attention_bytes": [
        "4*tokens*kv_heads*head_dim + 4*((tokens + block_size - 1)//block_size)",
        "2*2*tokens*kv_heads*head_dim + 4 * -(-tokens // block_size)",
    ],
}

WRONG = {
    "next_block": [
        lambda tokens, block: -tokens % block,  # the call that fills the last place
        lambda tokens, block: block - tokens % block,
        lambda tokens, block: block + 1,
    ],
    "sequences_fit": [
        lambda gib, tokens: gib * 2**30 // (2**17 * tokens),  # tokens, not blocks
        lambda gib, tokens: gib * 2**30 // 2**20 // _blocks(tokens, 16),  # K or V alone
        lambda gib, tokens: gib * 10**9 // 2**21 // _blocks(tokens, 16),  # GB for GiB
        lambda gib, tokens: gib * 2**30 // (2**17 * 2048),  # a piece of 2048 each
    ],
    "last_block": [
        lambda block, mean: 100 * block / mean,
        lambda block, mean: 100 * (block - 1) / (mean + block - 1),
        lambda block, mean: 100 / block,
    ],
    "system_prompt": [
        lambda system, question, requests: requests * _blocks(system + question, 16),
        lambda system, question, requests: _blocks(system, 16) + requests * _blocks(question, 16),
        lambda system, question, requests: _blocks(system + requests * question, 16),
    ],
    "twins": [
        lambda tokens, children: tokens // 16 + children + 2,  # nobody goes on in place
        lambda tokens, children: (children + 1) * _blocks(tokens + 1, 16),
        lambda tokens, children: tokens // 16 + children,
        lambda tokens, children: _blocks(tokens + 1, 16),
    ],
    "steps_needed": [
        # static batches: the longest of each decides
        """def steps_needed(lengths, rows):
    return sum([max(lengths[i:i + rows]) for i in range(0, len(lengths), rows)])""",
        # as if work could be divided
        """def steps_needed(lengths, rows):
    return max((sum(lengths) + rows - 1) // rows, max(lengths, default=0))""",
        # dealt out in turn
        """def steps_needed(lengths, rows):
    return max([sum(lengths[i::rows]) for i in range(rows)])""",
        # the longest first
        """def steps_needed(lengths, rows):
    ends = [0] * rows
    for n in sorted(lengths, reverse=True):
        ends = sorted(ends)
        ends[0] = ends[0] + n
    return max(ends)""",
    ],
    "swap_ms": [
        lambda tokens, rate: 0.131072 * tokens / rate,  # one way
        lambda tokens, rate: 0.524288 * tokens / rate,
        lambda tokens, rate: 0.131072 / 2 * tokens / rate,
    ],
    "recompute_ms": [
        lambda billions, tokens: billions * tokens / 500,  # one operation
        lambda billions, tokens: 2 * billions / 500,  # one token
        lambda billions, tokens: 4 * billions * tokens / 500,
    ],
    "attention_bytes": [
        "4*tokens*kv_heads*head_dim + 4*(tokens//block_size)",
        "2*tokens*kv_heads*head_dim + 4*((tokens + block_size - 1)//block_size)",
        "4*tokens*kv_heads*head_dim",
        "4*tokens*kv_heads*head_dim + 4*tokens",
        "4*tokens*kv_heads*head_dim + 4*(tokens//block_size + 1)",
    ],
    "pool_shape": [
        lambda sequences, tokens, heads, width: (_blocks(sequences * tokens, 32), 32, heads, width),
        lambda sequences, tokens, heads, width: (sequences * _blocks(tokens, 32), 32, 24, width),
        lambda sequences, tokens, heads, width: (sequences * _blocks(tokens, 32), heads, 32, width),
        lambda sequences, tokens, heads, width: (
            sequences * _blocks(tokens, 32) * 32,
            heads,
            width,
        ),
    ],
    "nan_kept_out": [
        {_REPLACED, _GATHERED, _SCORES},
        {_REPLACED},
        {_REPLACED, _GATHERED, _TIMES},
        {_SCORES, _GATHERED},
        {_REPLACED, _LESS},
    ],
    "least_memory_first": [
        ["P = 16", "P = 40", "P = 64", "P = 256", "P = 310"],
        ["P = 40", "P = 16", "P = 64", "P = 256", "P = 310"],
        ["P = 310", "P = 256", "P = 64", "P = 40", "P = 16"],
    ],
}

CASES = {
    "steps_needed": [
        ([], 1),
        ([3], 1),
        ([3], 4),
        ([2, 2, 2], 3),
        ([5, 1, 1, 1], 2),
        ([7, 2, 4, 3, 2, 6, 3, 5, 2, 4], 4),
        ([1, 1, 1, 6], 2),
        ([2, 3, 2, 3, 5], 2),
        ([4, 4, 1, 1, 9, 2], 3),
    ],
    "attention_bytes": [
        (1, 16, 1, 1),
        (16, 16, 8, 128),
        (17, 16, 2, 64),
        (32, 16, 4, 64),
        (95, 32, 8, 64),
        (96, 32, 3, 5),
        (1000, 7, 8, 128),
    ],
}
