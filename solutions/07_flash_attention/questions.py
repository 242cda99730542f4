"""Right answers to the questions of lab 07, and wrong ones that each must fail."""

import math


def right_without_a_factor() -> set[str]:
    """Where no later score is above the first one, every factor is exp(0) = 1."""
    rows = ["5, 1, 3", "5, 5, 1", "1, 3, 5", "3, 5, 1"]
    scores = {row: [float(text) for text in row.split(",")] for row in rows}
    return {row for row in rows if _without_factor(scores[row]) == _running(scores[row])}


def _running(scores: list[float]) -> float:
    top, total = -math.inf, 0.0
    for score in scores:
        new = max(top, score)
        total, top = total * math.exp(top - new) + math.exp(score - new), new
    return total


def _without_factor(scores: list[float]) -> float:
    top, total = -math.inf, 0.0
    for score in scores:
        top = max(top, score)
        total += math.exp(score - top)
    return total


def merged_value(lse: int, first: int, gap: float, second: int) -> float:
    """The parts count as exp(lse), and only the difference of the two matters."""
    whole = math.log(1 + math.exp(gap))  # above the first lse
    return math.exp(-whole) * first + math.exp(gap - whole) * second


def keys_that_do_not_exist(keys: int, block: int, score: int) -> float:
    """Each key that does not exist has the score 0: it adds 1 to l, and nothing to the sum."""
    loaded = -(-keys // block) * block
    scores = [score] * keys + [0] * (loaded - keys)
    values = [1] * keys + [0] * (loaded - keys)
    weights = [math.exp(x) for x in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def traffic_of_the_matrix(tokens: int, heads: int) -> float:
    """Four times a matrix of T · S numbers of two bytes, for each head."""
    return sum(heads * tokens * tokens * 2 for _ in range(4)) / 2**30


def flops_that_count(heads: int, tokens: int, width: int) -> int:
    """Query t sees t + 1 keys; each costs 2 · D in either product."""
    pairs = sum(t + 1 for t in range(tokens))
    return heads * pairs * (2 * width + 2 * width)


def tiles_with_a_mask(tokens: int, rows: int, keys: int) -> float:
    """A tile needs one if its first row does not see its last key."""
    visited = masked = 0
    for row in range(0, tokens, rows):
        for key in range(0, row + rows, keys):  # the last row sees keys to row + rows - 1
            visited += 1
            masked += key + keys - 1 > row
    return 100 * masked / visited


def visited_tiles(T: int, S: int, block_m: int, block_n: int) -> int:
    """A row of tiles goes as far as the key that its last real query sees, if it sees one."""
    return len({(t // block_m, s // block_n) for t in range(T) for s in range(S) if s <= t + S - T})


def lse_of_base_two(top: float, total: float) -> float:
    """The sum of exp is l · 2^m, and lse its natural logarithm."""
    return math.log(total * 2**top)


def largest_exponent(low: int, high: int, scale: float) -> float:
    """The largest product becomes the smallest score: exp meets the distance from low to high."""
    top = max(low, high) * scale
    return max(product * scale - top for product in range(low, high + 1))


def parts_for_one_query(batch: int, heads: int, cores: int) -> int:
    """Each query head of each sequence has P programs, whether it shares its keys or not."""
    parts = 1
    while batch * heads * parts < cores:
        parts += 1
    return parts


def last_tile_of_scores(
    batch: int, kv_heads: int, rows: int, keys: int, block: int
) -> tuple[int, int, int, int]:
    """All query heads and rows, and the keys that full tiles leave over."""
    starts = range(0, keys, block)
    return batch, 12, rows, keys - starts[-1]


def memory_on_the_chip(width: int, rows: int, keys: int, stages: int) -> float:
    """One tile of q, and stages tiles of k and as many of v, two bytes a number."""
    numbers = rows * width + sum(2 * keys * width for _ in range(stages))
    return numbers * 2 / 1024


RIGHT: dict[str, list[str]] = {
    "flops_that_count": [
        "2 * heads * width * tokens * (tokens + 1)",
        "4*heads*width*(tokens**2 + tokens)/2",
    ],
    "visited_tiles": [
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        last = min(first + block_m, T) - 1
        seen = last + S - T + 1
        if seen > 0:
            count += (seen + block_n - 1) // block_n
    return count
""",
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        last = min(first + block_m - 1, T - 1)
        for key in range(0, S, block_n):
            if key <= last + S - T:
                count = count + 1
    return count
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "right_without_a_factor": [
        {"5, 1, 3"},
        {"1, 3, 5"},
        {"5, 1, 3", "5, 5, 1", "3, 5, 1"},
        set[str](),
    ],
    "merged_value": [
        lambda lse, first, gap, second: (first + second) / 2,
        lambda lse, first, gap, second: (first * math.exp(gap) + second) / (1 + math.exp(gap)),
        lambda lse, first, gap, second: first + math.exp(gap) * second,
        lambda lse, first, gap, second: second,
    ],
    "keys_that_do_not_exist": [
        1,
        lambda keys, block, score: keys / (-(-keys // block) * block),
        lambda keys, block, score: keys_that_do_not_exist(keys, block, -score),
        0,
    ],
    "traffic_of_the_matrix": [
        lambda tokens, heads: 2 * heads * tokens**2 * 2 / 2**30,
        lambda tokens, heads: heads * tokens**2 * 2 / 2**30,
        lambda tokens, heads: 4 * tokens**2 * 2 / 2**30,
        lambda tokens, heads: 4 * heads * tokens**2 / 2**30,
        lambda tokens, heads: 4 * heads * tokens**2 * 2 / 1e9,
    ],
    "flops_that_count": [
        "4 * heads * width * tokens ** 2",
        "2 * heads * width * tokens ** 2",
        "heads * width * tokens * (tokens + 1)",
        "2 * heads * width * tokens * (tokens - 1)",
    ],
    "tiles_with_a_mask": [
        lambda tokens, rows, keys: (
            100 * (tokens // rows) * (rows // keys) / ((tokens // rows) * (tokens // keys))
        ),
        lambda tokens, rows, keys: tiles_with_a_mask(tokens, rows, keys) * keys / rows,
        lambda tokens, rows, keys: 100 - tiles_with_a_mask(tokens, rows, keys),
        lambda tokens, rows, keys: 50,
    ],
    "visited_tiles": [
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        last = min(first + block_m, T)
        count += (min(last, S) + block_n - 1) // block_n
    return count
""",
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        seen = first + block_m + S - T
        if seen > 0:
            count += (seen + block_n - 1) // block_n
    return count
""",
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        seen = first + S - T + 1
        if seen > 0:
            count += (seen + block_n - 1) // block_n
    return count
""",
        """def visited_tiles(T, S, block_m, block_n):
    return ((T + block_m - 1) // block_m) * ((S + block_n - 1) // block_n)
""",
        """def visited_tiles(T, S, block_m, block_n):
    count = 0
    for first in range(0, T, block_m):
        last = min(first + block_m, T) - 1
        seen = last + S - T
        if seen > 0:
            count += (seen + block_n - 1) // block_n
    return count
""",
    ],
    "lse_of_base_two": [
        lambda top, total: top + math.log(total),
        lambda top, total: top + math.log2(total),
        lambda top, total: (top + math.log(total)) * math.log(2),
        lambda top, total: top * math.log(2) + math.log2(total),
        lambda top, total: (top + math.log2(total)) / math.log(2),
    ],
    "largest_exponent": [
        0,
        lambda low, high, scale: low * scale,
        lambda low, high, scale: (high - low) * scale,
        lambda low, high, scale: high - low,
    ],
    "parts_for_one_query": [
        lambda batch, heads, cores: cores // (batch * heads),
        lambda batch, heads, cores: -(-cores // (batch * 2)),
        lambda batch, heads, cores: cores,
        lambda batch, heads, cores: -(-cores // (batch * heads)) + 1,
    ],
    "last_tile_of_scores": [
        lambda batch, kv_heads, rows, keys, block: (batch, 12, rows, block),
        lambda batch, kv_heads, rows, keys, block: (batch, kv_heads, rows, keys % block),
        lambda batch, kv_heads, rows, keys, block: (batch, 12, keys % block, rows),
        lambda batch, kv_heads, rows, keys, block: (batch, 12, rows, keys),
    ],
    "memory_on_the_chip": [
        lambda width, rows, keys, stages: (rows + stages * keys) * width * 2 / 1024,
        lambda width, rows, keys, stages: 2 * stages * keys * width * 2 / 1024,
        lambda width, rows, keys, stages: (rows + 2 * keys) * width * 2 / 1024,
        lambda width, rows, keys, stages: (rows + 2 * stages * keys) * width / 1024,
        lambda width, rows, keys, stages: (rows + 2 * keys) * stages * width * 2 / 1024,
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "visited_tiles": [
        (64, 96, 16, 16),
        (64, 64, 16, 16),
        (1, 100, 16, 32),
        (100, 1, 16, 32),
        (17, 17, 16, 16),
        (33, 20, 16, 8),
        (20, 33, 16, 8),
        (48, 48, 16, 64),
        (1, 1, 1, 1),
        (40, 7, 8, 4),
    ],
}
