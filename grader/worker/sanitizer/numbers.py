"""Numbers of a kernel that are too large: for int32, for a GPU's shared memory or registers."""

from typing import Any

import numpy as np

SHARED = 232_448  # bytes of shared memory that a program may have on an H100, the most of any GPU
REGISTERS = 1 << 18  # bytes of registers of an H100's multiprocessor, all that a program can have


def product_wraps(left: Any, right: Any) -> bool:
    """Tell whether a product of int32 passes 2³¹."""
    if not left.size or not right.size or _largest(left) * _largest(right) < 1 << 31:
        return False
    exact = left.astype(np.int64) * right.astype(np.int64)
    return bool((exact != exact.astype(np.int32)).any())


def sum_wraps(left: Any, right: Any, out: Any) -> bool:
    """Tell whether a sum of positive int32 passes 2³¹: it is negative then."""
    return bool(out.size and out.min() < 0 and (((left ^ out) & (right ^ out)) < 0).any())


def too_large(left: Any, right: Any) -> str:
    """Return why no GPU holds the blocks of a ``tl.dot``, or an empty string."""
    size = left.nbytes + right.nbytes
    if size <= SHARED:
        return ""
    forms = [" x ".join(map(str, block.shape)) for block in (left, right)]
    return (
        f"tl.dot of {forms[0]} and {forms[1]} needs {size >> 10} KiB of shared memory, and an H100 "
        f"has {SHARED >> 10} KiB for a program: take smaller blocks."
    )


def too_wide(size: int) -> str:
    """Return why a GPU does not hold a block of ``size`` bytes, or an empty string."""
    if size <= REGISTERS:
        return ""
    return (
        f"A block of {size >> 10} KiB: an H100 has {REGISTERS >> 10} KiB of registers for a "
        "program, and the compiler spills the rest to memory: take smaller blocks in a loop."
    )


def _largest(values: Any) -> int:
    if values.size == 1:
        return abs(int(values.flat[0]))
    return max(int(values.max()), -int(values.min()))
