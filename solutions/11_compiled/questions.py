"""Right answers to the questions of lab 11, and wrong ones that each must fail."""


def eager_steps(steps: int) -> int:
    """Each position is a graph of its own; for the ninth torch gives up, and it and all later
    positions run eager."""
    graphs = eager = 0
    for _position in range(steps):
        if graphs < 8:
            graphs += 1
        else:
            eager += 1
    return eager


def slots_that_fit(gib: int, max_len: int) -> int:
    """Keys and values of a token are 128 KiB; one row of the memory is scratch, which no sequence
    gets."""
    row = 2 * 32 * 8 * 128 * max_len * 2
    return gib * 2**30 // row - 1


def cache_bytes(layers: int, slots: int, kv_heads: int, max_len: int, head_dim: int) -> int:
    """Keys and values of every slot and of scratch, 2 bytes each."""
    return 2 * layers * (slots + 1) * kv_heads * max_len * head_dim * 2


def _rows(most: int, sizes: list[int]) -> tuple[int, int]:
    """Return the rows that are wanted and those that are computed, over steps of 1 to ``most``."""
    computed = [min(size for size in sizes if size >= rows) for rows in range(1, most + 1)]
    return sum(range(1, most + 1)), sum(computed)


def padding_share(most: int) -> float:
    """Half of all steps are above most / 2 and take the largest graph, a quarter the next, and so
    on: padding over what is computed."""
    wanted, computed = _rows(most, [2**power for power in range(most.bit_length())])
    return 100 * (computed - wanted) / computed


def sizes_in_order() -> list[str]:
    """7, 12, 16 and 28 rows: two sizes near the middle are worth more than a small one."""
    lists = [[8], [2, 8], [4, 8], [3, 5, 8]]
    return [str(sizes) for sizes in sorted(lists, key=lambda sizes: _rows(8, sizes)[1])]


def replay_gain(kernels: int, launch: int, run: int) -> float:
    """Eager, each kernel waits for its launch, and the last one runs behind the last launch; the
    graph waits for its kernels alone."""
    host = device = 0
    for _kernel in range(kernels):
        host += launch
        device = max(device, host) + run
    return device / (10 + kernels * run)


def mask_shape(rows: int, longest: int, max_len: int) -> tuple[int, ...]:
    """One new token a row, over all places of the cache: nothing in it may depend on positions."""
    return (rows, 1, 1, max_len)


_COPIED = "numbers in a tensor that was an input of the capture, copied into it"
_IN_PLACE = "weights that were changed in place"
_REPLACED = "weights that were replaced by new tensors"
_OFFSET = "a Python int that was the offset of a slice"
_LONGER = "the cache's length, because it was extended by `cat`"


def may_change() -> set[str]:
    """Addresses, shapes and Python's numbers are those of the capture; what lies at the addresses
    is read anew."""
    return {_COPIED, _IN_PLACE}


def mask_from_outside() -> str:
    """Its memory is read as it is, and holds what the first positions allowed."""
    return "as far as the rows of the captured step saw: what came later is hidden"


def pool_saves(row: int, most: int) -> int:
    """Pools of their own take 1 + 2 + 4 + ... + most rows, a shared one as many as the largest."""
    sizes = [2**power for power in range(most.bit_length())]
    return row * (sum(sizes) - max(sizes))


def slots_needed(starts: list[int], steps: list[int]) -> int:
    """A slot that is let go behind step t is free in step t + 1. The most are in use in some step
    in which one begins."""
    used: dict[int, int] = {}
    for start, count in zip(starts, steps, strict=True):
        for step in range(start, start + count):
            used[step] = used.get(step, 0) + 1
    return max(used.values(), default=0)


RIGHT = {
    "cache_bytes": [
        "4 * layers * (slots + 1) * kv_heads * max_len * head_dim",
        "2*2*layers*kv_heads*max_len*head_dim*slots + 2*2*layers*kv_heads*max_len*head_dim",
    ],
    "slots_needed": [
        """def slots_needed(starts, steps):
    most = 0
    for now in starts:
        used = 0
        for i in range(len(starts)):
            if starts[i] <= now and now < starts[i] + steps[i]:
                used += 1
        most = max(most, used)
    return most""",
        """def slots_needed(starts, steps):
    most = 0
    for t in starts:
        most = max(most, sum([1 for s, n in zip(starts, steps) if s <= t < s + n]))
    return most""",
    ],
}

WRONG = {
    "eager_steps": [
        lambda steps: steps - 9,
        lambda steps: steps,
        0,
        lambda steps: steps - 1,
    ],
    "slots_that_fit": [
        lambda gib, max_len: gib * 2**30 // (2**17 * max_len),  # scratch forgotten
        lambda gib, max_len: gib * 2**30 // (2**16 * max_len) - 1,  # K or V alone
        lambda gib, max_len: gib * 10**9 // (2**17 * max_len) - 1,  # GB for GiB
    ],
    "cache_bytes": [
        "4 * layers * slots * kv_heads * max_len * head_dim",
        "2 * layers * (slots + 1) * kv_heads * max_len * head_dim",
        "4 * layers * (slots + 1) * kv_heads * (max_len + 1) * head_dim",
    ],
    "padding_share": [
        lambda most: 100 * (_padding(most) / (most * (most + 1) / 2)),  # over the real rows
        50,
        25,
    ],
    "sizes_in_order": [
        ["[3, 5, 8]", "[2, 8]", "[4, 8]", "[8]"],
        ["[8]", "[2, 8]", "[4, 8]", "[3, 5, 8]"],
    ],
    "replay_gain": [
        lambda kernels, launch, run: (launch + run) / run,  # as if the host waited for each
        lambda kernels, launch, run: launch + run,
        lambda kernels, launch, run: run / launch,
    ],
    "mask_shape": [
        lambda rows, longest, max_len: (rows, 1, 1, longest + 1),
        lambda rows, longest, max_len: (rows, 1, max_len, max_len),
        lambda rows, longest, max_len: (rows, max_len),
        lambda rows, longest, max_len: (1, 1, 1, max_len),
    ],
    "may_change": [
        {_COPIED},
        {_COPIED, _IN_PLACE, _REPLACED},
        {_COPIED, _REPLACED},
        {_COPIED, _IN_PLACE, _OFFSET},
        {_COPIED, _IN_PLACE, _LONGER},
    ],
    "mask_from_outside": ["the right places: positions were copied in", "all of the cache"],
    "pool_saves": [
        lambda row, most: row * (2 * most - 1),  # what pools of their own take
        lambda row, most: row * most,
        lambda row, most: row * (most // 2),
    ],
    "slots_needed": [
        # a slot that is still held in the step behind the last
        """def slots_needed(starts, steps):
    return max([sum([1 for s, n in zip(starts, steps) if s <= t <= s + n])
                for t in starts], default=0)""",
        "def slots_needed(starts, steps):\n    return len(starts)",
        # of those alone that begin together
        """def slots_needed(starts, steps):
    return max([starts.count(t) for t in starts], default=0)""",
        # without a case for no sequences
        """def slots_needed(starts, steps):
    return max([sum([1 for s, n in zip(starts, steps) if s <= t < s + n]) for t in starts])""",
    ],
}

CASES = {
    "slots_needed": [
        ([], []),
        ([0], [1]),
        ([0, 1], [1, 1]),
        ([0, 0, 0], [3, 2, 1]),
        ([0, 3, 5], [4, 3, 2]),
        ([5, 0, 2, 2], [2, 5, 1, 3]),
        ([4, 1, 0, 7], [1, 3, 9, 2]),
    ],
}


def _padding(most: int) -> int:
    wanted, computed = _rows(most, [2**power for power in range(most.bit_length())])
    return computed - wanted
