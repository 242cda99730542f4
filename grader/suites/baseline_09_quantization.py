"""What lab 09 is raced against: torch's bf16 linear, under the name of the submission's function.

The weights of a race are the same in every call, so the first one leaves them in bf16 and all
others are a plain linear: the time that a model in bf16 takes.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

ROWS = 4096  # that are dequantized at once: float32 copies of all would fill the GPU


class Weights:
    """The bf16 weights of the last race."""

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._kept: list[Tensor] = []

    def of(self, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:  # [O, I]
        """Return the weights, dequantized once for each size."""
        key = (packed.shape, packed.device, group)
        if key != self._key:
            self._kept.clear()  # before the next are made: both may not fit
            self._kept.append(dequantize(packed, scale, zero, group))
            self._key = key
        return self._kept[0]


def dequantize(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:  # bf16 [O, I]
    """Return the weights that the codes stand for, rounded to bf16."""
    num_out, half = packed.shape
    weights = torch.empty(num_out, 2 * half, dtype=torch.bfloat16, device=packed.device)
    for start in range(0, num_out, ROWS):
        here = slice(start, start + ROWS)
        codes = torch.stack((packed[here] & 15, packed[here] >> 4), dim=2).flatten(1).float()
        groups = codes.unflatten(1, (-1, group)) - zero[here, :, None].float()
        weights[here] = (groups * scale[here, :, None]).flatten(1)
    return weights


_WEIGHTS = Weights()


def int4_matmul(
    x: Tensor,  # [M, I] bf16
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # [M, O]
    """Multiply with the weights in bf16."""
    return F.linear(x, _WEIGHTS.of(packed, scale, zero, group))
