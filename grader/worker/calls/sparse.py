"""Tensors whose elements lie gigabytes apart, where the memory between them costs nothing.

On a CPU it is mapped and never touched: pages that nobody looks at take no room, and neither a
limit of the kernel's on data nor one on memory counts them. In front of it lies as much of nobody's
as an offset that wraps around in int32 can go back: it is not to end in another such tensor. On a
GPU memory is allocated.
"""

import mmap
from collections.abc import Sequence

import torch
from torch import Tensor

NORESERVE = 0x4000  # of mmap on Linux: Python 3.11 has no name for it
BACK = 1 << 31  # elements, at most, that an offset in int32 points back


def apart(values: Tensor, strides: Sequence[int]) -> Tensor:
    """Return a view that equals values and has these strides."""
    last = sum((size - 1) * stride for size, stride in zip(values.shape, strides, strict=True))
    unit = values.element_size()
    memory = _memory((last + 1) * unit, BACK * unit, values.device)
    return memory.view(values.dtype).as_strided(values.shape, tuple(strides)).copy_(values)


def _memory(size: int, ahead: int, device: torch.device) -> Tensor:
    if device.type != "cpu":
        return torch.empty(size, dtype=torch.uint8, device=device)
    flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | NORESERVE
    memory = mmap.mmap(-1, ahead + size, flags=flags)
    return torch.frombuffer(memory, dtype=torch.uint8, offset=ahead, count=size)
