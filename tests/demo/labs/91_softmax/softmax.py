"""Softmax over rows: the smallest lab with a speed task.

M rows, N columns.
"""

from torch import Tensor


def softmax(
    x: Tensor,  # [M, N]
) -> Tensor:  # [M, N]
    """Compute in float32 and return x's dtype."""
    raise NotImplementedError("right: softmax")
