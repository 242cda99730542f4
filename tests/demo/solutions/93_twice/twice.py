"""Twice, in Python."""

import torch
from torch import Tensor


def twice(x: Tensor) -> Tensor:
    """Return ``2 * x`` by the operator."""
    return torch.ops.demo93.twice(x)
