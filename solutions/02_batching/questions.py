"""Right answers to the questions of lab 02, and wrong ones that each must fail."""

from fractions import Fraction


def first_nan() -> str:
    """Layer 1 spoils the padding query alone. In layer 2 its value is NaN, and 0 · NaN is NaN."""
    return "behind layer 2"


def seen_cells(real: int, columns: int) -> int:
    """Real query i sees i + 1 keys, and each padding query sees itself."""
    valid = [False] * (columns - real) + [True] * real
    return sum(
        i == j or (valid[i] and valid[j] and j <= i) for i in range(columns) for j in range(columns)
    )


def logits_of_a_call(
    first: int, second: int, third: int, vocabulary: int, call: int
) -> tuple[int, int, int]:
    """The first call has the longest prompt's columns, each later one a column more."""
    columns = max(first, second, third)
    for _ in range(call - 1):
        columns += 1
    return 3, columns, vocabulary


def position_of_new_token(prompt: int, longest: int, nth: int) -> int:
    """Positions count real tokens of the row from 0: the first new one stands at `prompt`."""
    return list(range(prompt + nth))[-1]


def reads_padding() -> str:
    """It looks up every cell of the grid, before any mask is applied."""
    return "the embedding"


def waste_of_a_batch(many: int, short: int, long: int) -> float:
    """All rows have the longest one's columns; what is not a real token is padding."""
    cells = (many + 1) * long
    return 100 * (cells - many * short - long) / cells


def least_waste() -> list[str]:
    """Waste is 1 less mean / maximum: 0, 1/32, 1/4, 7/16, 21/32."""
    batches = ["1, 1, 1, 8", "1, 8", "7, 8, 8, 8", "300, 300, 300", "500, 1000"]

    def waste(text: str) -> Fraction:
        lengths = [int(word) for word in text.split(",")]
        return 1 - Fraction(sum(lengths), len(lengths) * max(lengths))

    return sorted(batches, key=waste)


def cells_when_sorted(lengths: list[int], size: int) -> int:
    """Each batch has as many columns as its last, longest request, and a row for each it has."""
    ordered = sorted(lengths)
    batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    return sum(len(batch) * max(batch) for batch in batches)


def idle_row_steps(long: int, others: int, short: int) -> float:
    """All rows run for as many calls as the longest; what is above a row's own need is idle."""
    needed = [long] + [short] * others
    steps = max(needed) * len(needed)
    return 100 * (steps - sum(needed)) / steps


def steps_with_refilling(first: int, fifth: int, slots: int) -> int:
    """Each answer goes to the slot that is free first; the slot that ends last tells the calls."""
    waiting = [first, 3, 9, 4, fifth, 5]
    running: list[int] = []
    calls = 0
    while waiting or running:
        while waiting and len(running) < slots:
            running.append(waiting.pop(0))
        running = [left - 1 for left in running if left > 1]
        calls += 1
    return calls


def fastest_batch(billions: int, bandwidth: float, rows: int) -> float:
    """Two bytes a weight, read once for all rows of a step."""
    step = billions * 1e9 * 2 / (bandwidth * 1e12)
    return rows / step


def _static(first: int, fifth: int, slots: int) -> int:
    needs = [first, 3, 9, 4, fifth, 5]
    return sum(max(needs[i : i + slots]) for i in range(0, 6, slots))


RIGHT: dict[str, list[str]] = {
    "seen_cells": [
        "real * (real + 1) / 2 + columns - real",
        "real*(real - 1)//2 + columns",
        "columns + (real**2 - real) / 2",
    ],
    "cells_when_sorted": [
        """def cells_when_sorted(lengths, size):
    ordered = sorted(lengths)
    total = 0
    start = 0
    while start < len(ordered):
        end = min(start + size, len(ordered))
        total += (end - start) * ordered[end - 1]
        start = end
    return total
""",
        """def cells_when_sorted(lengths, size):
    ordered = sorted(lengths)
    n = len(ordered)
    total = 0
    for i in range(n):
        last = (i // size + 1) * size - 1
        if last > n - 1:
            last = n - 1
        total = total + ordered[last]
    return total
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "first_nan": ["behind layer 1", "behind none, since padding has the weight 0"],
    "seen_cells": [
        "real * (real + 1) / 2",
        "columns * (columns + 1) / 2",
        "real * (real - 1) / 2 + columns - real",
        "real * real + columns - real",
    ],
    "logits_of_a_call": [
        lambda first, second, third, vocabulary, call: (3, second + call, vocabulary),
        lambda first, second, third, vocabulary, call: (3, second, vocabulary),
        lambda first, second, third, vocabulary, call: (3, 1, vocabulary),
        lambda first, second, third, vocabulary, call: (3, vocabulary),
        lambda first, second, third, vocabulary, call: (3, vocabulary, second + call - 1),
    ],
    "position_of_new_token": [
        lambda prompt, longest, nth: prompt + nth,
        lambda prompt, longest, nth: longest + nth - 1,
        lambda prompt, longest, nth: nth - 1,
        lambda prompt, longest, nth: prompt + nth - 2,
    ],
    "reads_padding": ["the rotation by positions", "the softmax", "the argmax over the logits"],
    "waste_of_a_batch": [
        lambda many, short, long: 100 * (many * short + long) / ((many + 1) * long),
        lambda many, short, long: 100 * many * (long - short) / (many * short + long),
        lambda many, short, long: 100 * (long - short) / long,
        lambda many, short, long: many * (long - short) / ((many + 1) * long),
    ],
    "least_waste": [
        ["300, 300, 300", "7, 8, 8, 8", "1, 8", "500, 1000", "1, 1, 1, 8"],
        ["7, 8, 8, 8", "1, 8", "1, 1, 1, 8", "500, 1000", "300, 300, 300"],
        ["300, 300, 300", "7, 8, 8, 8", "1, 8", "1, 1, 1, 8", "500, 1000"],
    ],
    "cells_when_sorted": [
        """def cells_when_sorted(lengths, size):
    total = 0
    for i in range(0, len(lengths), size):
        end = min(i + size, len(lengths))
        longest = 0
        for j in range(i, end):
            longest = max(longest, lengths[j])
        total += (end - i) * longest
    return total
""",
        """def cells_when_sorted(lengths, size):
    ordered = sorted(lengths)
    total = 0
    for i in range(0, len(ordered), size):
        end = min(i + size, len(ordered))
        total += size * ordered[end - 1]
    return total
""",
        """def cells_when_sorted(lengths, size):
    ordered = sorted(lengths)
    total = 0
    for i in range(0, len(ordered), size):
        end = min(i + size, len(ordered))
        total += (end - i) * ordered[i]
    return total
""",
        """def cells_when_sorted(lengths, size):
    ordered = sorted(lengths)
    total = 0
    for i in range(size - 1, len(ordered), size):
        total += size * ordered[i]
    return total
""",
    ],
    "idle_row_steps": [
        lambda long, others, short: 100 * (others * short + long) / ((others + 1) * long),
        lambda long, others, short: 100 * (long - short) / long,
        lambda long, others, short: 100 * others * (long - short) / (others * short + long),
    ],
    "steps_with_refilling": [
        _static,
        lambda first, fifth, slots: -(-(first + 3 + 9 + 4 + fifth + 5) // slots),
        lambda first, fifth, slots: first + 3 + 9 + 4 + fifth + 5,
    ],
    "fastest_batch": [
        lambda billions, bandwidth, rows: rows * bandwidth * 1e3 / billions,
        lambda billions, bandwidth, rows: bandwidth * 1e3 / (2 * billions),
        lambda billions, bandwidth, rows: bandwidth * 1e3 / (2 * billions * rows),
        lambda billions, bandwidth, rows: rows * bandwidth / (2 * billions),
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "seen_cells": [(1, 1), (3, 8), (8, 8), (5, 20), (17, 40), (1, 9), (24, 25)],
    "cells_when_sorted": [
        ([9, 2, 7, 3, 8, 1, 4], 3),
        ([5, 1, 1000, 2, 900], 2),
        ([6, 6, 6], 8),
        ([4, 2, 8], 1),
        ([11], 4),
        ([], 4),
        ([30, 3, 20, 2, 10, 1], 3),
    ],
}
