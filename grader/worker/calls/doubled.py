"""A kernel that every device takes, with Triton's interpreter or its compiler."""

from typing import Any

import torch
import triton
import triton.language as tl

SIZE = 64


@triton.jit
def double(x, y, BLOCK: tl.constexpr):  # pyright: ignore[reportMissingParameterType]  # pointers
    at = tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at))


def launch(device: torch.device) -> None:
    """Launch it; raises RuntimeError for what is not twice as much."""
    x = torch.ones(SIZE, device=device)
    y = torch.zeros_like(x)
    kernel: Any = double
    kernel[(1,)](x, y, BLOCK=SIZE)
    if int(y.sum()) != 2 * SIZE:
        raise RuntimeError("a kernel that doubles does not")
