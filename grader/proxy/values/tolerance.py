"""The one table of tolerances: how far a right value may be from the oracle's."""

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Limits: |x - y| <= atol * rms(y) + rtol * |y| for each element, and the relative L2 error."""

    atol: float
    rtol: float
    l2: float


LOW_PRECISION = {
    ("plain", torch.float16): Tolerance(2e-3, 2e-3, 1e-3),
    ("plain", torch.bfloat16): Tolerance(1.6e-2, 1.6e-2, 6e-3),
    ("attention", torch.float16): Tolerance(3e-3, 2e-3, 1.5e-3),
    ("attention", torch.bfloat16): Tolerance(2e-2, 1.6e-2, 8e-3),
    ("backward", torch.float16): Tolerance(4e-3, 4e-3, 2e-3),
    ("backward", torch.bfloat16): Tolerance(3e-2, 3e-2, 1.5e-2),
    # Of many layers: two that round otherwise differ by 5 % in bfloat16, and by 40 % if one layer
    # of 22 is left out.
    ("model", torch.float16): Tolerance(6e-2, 6e-2, 1.2e-2),
    ("model", torch.bfloat16): Tolerance(5e-1, 5e-1, 1e-1),
}
CASES = ("elementwise", "matmul", "attention", "backward", "model")


def tolerance(case: str, dtype: torch.dtype, inner: int) -> Tolerance:
    """Return the row of the table; ``inner`` is the length of the sum behind each element."""
    if case not in CASES:
        raise ValueError(f"unknown case {case}")
    if dtype == torch.float64:
        return Tolerance(1e-10, 1e-10, 1e-11)
    if dtype == torch.float32:
        if case == "elementwise":
            return Tolerance(1e-5, 1e-5, 1e-6 * max(1.0, math.sqrt(inner) / 32))
        long = math.sqrt(inner / 1024)
        return Tolerance(1e-5 * max(1.0, long), 1e-4, 2e-6 * max(0.5, long))
    return LOW_PRECISION["plain" if case in ("elementwise", "matmul") else case, dtype]
