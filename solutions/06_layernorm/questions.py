"""Right answers to the questions of lab 06, and wrong ones that each must fail."""

import math


def time_of_a_forward(rows: int, columns: int, bandwidth: float) -> float:
    """Two bytes an element are read, and two are written."""
    moved = rows * columns * 2 + rows * columns * 2
    return moved / (bandwidth * 1e12) * 1e6


def bytes_of_a_backward(rows: int, columns: int) -> int:
    """Three tensors of two bytes an element, and two float32 numbers a row."""
    tensors = 3 * rows * columns * 2
    return tensors + 2 * rows * 4


def step_of_squares(mean: int) -> float:
    """24 significant bits: the step is the power of two below, divided by 2^23."""
    leading = 1
    while 2 * leading <= mean**2:
        leading *= 2
    return leading / 2**23


def lanes_that_count(columns: int, ratio: int) -> float:
    """Each lane beyond the row adds the square of the mean, which is ratio² variances."""
    block = _block(columns)
    row, beyond = columns * 1.0, (block - columns) * float(ratio) ** 2  # in variances
    return (row + beyond) / columns


def idle_lanes(columns: int) -> float:
    """tl.arange wants a power of two; what is beyond the row does nothing."""
    block = _block(columns)
    return 100 * (block - columns) / block


def _block(columns: int) -> int:
    block = 1
    while block < columns:
        block *= 2
    return block


def first_offset_too_large(stride: int) -> int:
    """int32 ends at 2^31 - 1."""
    row = (2**31 - 1) // stride
    while row * stride <= 2**31 - 1:
        row += 1
    return row


def buffer_of_partial_sums(columns: int, programs: int) -> float:
    """Two buffers, one row of four bytes a column for each program."""
    return sum(columns * 4 for _ in ("dweight", "dbias") for _ in range(programs)) / 2**20


def error_of_a_stored_mean(mean: int) -> float:
    """bfloat16 has 8 significant bits; a number is off by half of their step at most."""
    leading = 2 ** math.floor(math.log2(mean))
    return leading / 2**7 / 2


def strides_of_dy(first: int, second: int, third: int) -> tuple[int, int, int]:
    """The gradient of a sum is one number, expanded: every index leads to the same element."""
    return 0, 0, 0


def sums_that_vanish() -> set[str]:
    """y feels neither a shift nor a scale of x: dx is free of 1 and of n, so of x as well."""
    return {"the sum of dx", "the sum of dx · n", "the sum of dx · x"}


def same_bits() -> str:
    """Addition of floats is not associative, and atomics come in another order each time."""
    return "the partial sums alone"


def rows_of_programs(rows: int, programs: int) -> list[int]:
    """The first ones get one more if it does not come out even."""
    return [len(range(p, rows, programs)) for p in range(programs)]


RIGHT: dict[str, list[str]] = {
    "bytes_of_a_backward": ["6 * rows * columns + 8 * rows", "2*rows*(3*columns + 4)"],
    "rows_of_programs": [
        """def rows_of_programs(rows, programs):
    counts = [0] * programs
    for row in range(rows):
        counts[row % programs] += 1
    return counts
""",
        """def rows_of_programs(rows, programs):
    counts = []
    for p in range(programs):
        counts = counts + [max(0, rows - p + programs - 1) // programs]
    return counts
""",
    ],
}

WRONG: dict[str, list[object]] = {
    "time_of_a_forward": [
        lambda rows, columns, bandwidth: rows * columns * 2 / (bandwidth * 1e6),
        lambda rows, columns, bandwidth: rows * columns * 8 / (bandwidth * 1e6),
        lambda rows, columns, bandwidth: rows * columns * 2 * 3 / (bandwidth * 1e6),
        lambda rows, columns, bandwidth: rows * columns * 4 / (bandwidth * 1e9),
    ],
    "bytes_of_a_backward": [
        "6 * rows * columns",
        "4 * rows * columns + 8 * rows",
        "6 * rows * columns + 4 * rows",
        "12 * rows * columns + 8 * rows",
        "3 * rows * columns + 2 * rows",
    ],
    "step_of_squares": [
        lambda mean: 2 ** (math.floor(math.log2(mean**2)) - 24),
        lambda mean: 2 ** (math.floor(math.log2(mean)) - 23),
        lambda mean: mean**2 / 2**23,
        lambda mean: 2.0**-23,
    ],
    "lanes_that_count": [
        lambda columns, ratio: _block(columns) / columns,
        lambda columns, ratio: 1 + (_block(columns) - columns) * ratio / columns,
        lambda columns, ratio: 1 + (_block(columns) - columns) * ratio**2 / _block(columns),
        lambda columns, ratio: (_block(columns) - columns) * ratio**2 / columns,
    ],
    "idle_lanes": [
        lambda columns: 100 * (_block(columns) - columns) / columns,
        lambda columns: 100 * columns / _block(columns),
        lambda columns: (_block(columns) - columns) / _block(columns),
        lambda columns: 0,
    ],
    "first_offset_too_large": [
        lambda stride: (2**31 - 1) // stride,
        lambda stride: -(-(2**32) // stride),
        lambda stride: -(-(2**31) // (2 * stride)),
        lambda stride: 2**31,
    ],
    "buffer_of_partial_sums": [
        lambda columns, programs: columns * programs * 4 / 2**20,
        lambda columns, programs: columns * programs * 2 * 2 / 2**20,
        lambda columns, programs: columns * programs * 8 / 1e6,
        lambda columns, programs: columns * programs * 2 / 2**20,
        lambda columns, programs: columns * 8 / 2**20,
    ],
    "error_of_a_stored_mean": [
        lambda mean: 2 ** (math.floor(math.log2(mean)) - 7),
        lambda mean: 2 ** (math.floor(math.log2(mean)) - 9),
        lambda mean: mean / 2**9,
        lambda mean: 2**-8,
    ],
    "strides_of_dy": [
        lambda first, second, third: (second * third, third, 1),
        (1, 1, 1),
        (0, 0, 1),
    ],
    "sums_that_vanish": [
        {"the sum of dx"},
        {"the sum of dx", "the sum of dx · n"},
        {"the sum of dx", "the sum of dx · n", "the sum of dx · x", "the sum of dx · dy"},
    ],
    "same_bits": ["the atomics alone", "both, since float32 is exact enough", "neither"],
    "rows_of_programs": [
        """def rows_of_programs(rows, programs):
    return [rows // programs] * programs
""",
        """def rows_of_programs(rows, programs):
    return [(rows + programs - 1) // programs] * programs
""",
        """def rows_of_programs(rows, programs):
    each = (rows + programs - 1) // programs
    counts = []
    left = rows
    for p in range(programs):
        counts = counts + [min(each, left)]
        left = left - min(each, left)
    return counts
""",
        """def rows_of_programs(rows, programs):
    counts = [rows // programs] * programs
    counts[programs - 1] += rows % programs
    return counts
""",
    ],
}

CASES: dict[str, list[tuple[object, ...]]] = {
    "rows_of_programs": [(10, 4), (8, 4), (3, 5), (0, 3), (7, 1), (1, 1), (51, 4), (100, 7)],
}
