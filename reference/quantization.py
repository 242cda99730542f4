"""Oracle for lab 09: codes and scales in float64, a row or group at a time, and fake weights.

``on_grid`` functions draw weights whose codes are known: no code hangs on how a division rounds.

Shapes end names: O output features, I input features, 1 an axis of one; ``codes_OI`` is [O, I].
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

INT8_MOST, INT4_MOST = 127, 15
OFF_TIE = 0.4  # how far a drawn weight is from its code at most, in steps; 0.5 would be a tie


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:  # [O, I] -> float64 codes [O, I], scale [O]
    """Return symmetric codes of each row, rounded half to even; a row of zeros has scale 1."""
    w = w.double()
    codes_OI, scales_O = torch.zeros_like(w), torch.ones(w.shape[0], dtype=torch.float64)
    for row, values_I in enumerate(w):
        largest = max(abs(value) for value in values_I.tolist())
        if largest > 0:
            scales_O[row] = largest / INT8_MOST
            codes_OI[row] = (values_I / scales_O[row]).round()
    return codes_OI, scales_O


def dequantize_int8(codes: Tensor, scale: Tensor) -> Tensor:  # [O, I], [O] -> float64 [O, I]
    """Return the weights that the codes stand for."""
    return codes.double() * scale.double()[:, None]


def quantize_int4(
    w: Tensor,  # [O, I]
    group: int,
) -> tuple[Tensor, Tensor, Tensor]:  # float64 codes [O, I], scale and zero [O, I/group]
    """Return codes 0..15; each group's range holds 0, and an all-zero group has scale 1."""
    w = w.double()
    codes_OI = torch.zeros_like(w)
    scale = torch.ones(w.shape[0], w.shape[1] // group, dtype=torch.float64)
    zero = torch.zeros_like(scale)
    for row in range(scale.shape[0]):
        for index in range(scale.shape[1]):
            here = slice(index * group, (index + 1) * group)
            values = w[row, here]
            low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
            if high > low:
                scale[row, index] = (high - low) / INT4_MOST
                zero[row, index] = round(-low / float(scale[row, index]))
                steps = (values / scale[row, index]).round() + zero[row, index]
                codes_OI[row, here] = steps.clamp(0, INT4_MOST)
    return codes_OI, scale, zero


def pack(codes: Tensor) -> Tensor:  # [O, I], I even -> uint8 [O, I/2]
    """Put the code of each even column into the low half of a byte, its neighbour's into the high.

    >>> pack(torch.tensor([[1, 2, 15, 0]])).tolist()
    [[33, 15]]
    """
    rows = [
        [low + 16 * high for low, high in zip(row[0::2], row[1::2], strict=True)]
        for row in codes.long().tolist()
    ]
    return torch.tensor(rows, dtype=torch.uint8).reshape(codes.shape[0], codes.shape[1] // 2)


def unpack(packed: Tensor) -> Tensor:  # uint8 [O, I/2] -> float64 [O, I]
    """Return the codes in the bytes, in the order of their columns."""
    rows = [[half for byte in row for half in (byte % 16, byte // 16)] for row in packed.tolist()]
    shape = packed.shape[0], 2 * packed.shape[1]
    return torch.tensor(rows, dtype=torch.float64).reshape(shape)


def dequantize_int4(
    packed: Tensor, scale: Tensor, zero: Tensor, group: int
) -> Tensor:  # float64 [O, I]
    """Return the weights that packed codes stand for: (code - zero) * scale."""
    codes = unpack(packed)
    column = torch.arange(codes.shape[1]) // group
    return (codes - zero.double()[:, column]) * scale.double()[:, column]


def fake_int8(w: Tensor) -> Tensor:  # [O, I] -> float64 [O, I]
    """Return what is left of weights after int8, by whole-tensor arithmetic."""
    scale = w.double().abs().amax(1, keepdim=True) / INT8_MOST
    scale = torch.where(scale > 0, scale, 1.0)
    return (w.double() / scale).round() * scale


def fake_int4(w: Tensor, group: int) -> Tensor:  # [O, I] -> float64 [O, I]
    """Return what is left of weights after int4, by whole-tensor arithmetic."""
    groups = w.double().unflatten(1, (-1, group))
    low, high = groups.amin(2, keepdim=True).clamp(max=0), groups.amax(2, keepdim=True).clamp(min=0)
    scale = torch.where(high > low, (high - low) / INT4_MOST, 1.0)
    zero = (-low / scale).round()
    codes = ((groups / scale).round() + zero).clamp(0, INT4_MOST)
    return ((codes - zero) * scale).flatten(1)


def fake_tokens(x: Tensor) -> Tensor:  # [B, G, T, D] -> float64, one scale for each token and head
    """Return what is left of keys or values after int8."""
    return fake_int8(x.reshape(-1, x.shape[-1])).reshape(x.shape)


def int8_on_grid(
    generator: torch.Generator, rows: int, width: int, spread: float = OFF_TIE
) -> tuple[Tensor, Tensor, Tensor]:  # w float32 [O, I], its codes int8 [O, I], scale float32 [O]
    """Draw weights whose codes are known, in rows of very different size."""
    codes_OI = torch.randint(-INT8_MOST, INT8_MOST + 1, (rows, width), generator=generator)
    largest_O1 = torch.randint(0, width, (rows, 1), generator=generator)
    sign_O1 = 2 * torch.randint(0, 2, (rows, 1), generator=generator) - 1
    codes_OI.scatter_(1, largest_O1, INT8_MOST * sign_O1)
    steps_OI = codes_OI + spread * (2 * torch.rand(rows, width, generator=generator) - 1)
    # No value may pass the largest, from which the scale is made.
    steps_OI.clamp_(-INT8_MOST, INT8_MOST).scatter_(1, largest_O1, (INT8_MOST * sign_O1).float())
    scale_O = 10.0 ** (4 * torch.rand(rows, generator=generator) - 3)
    return steps_OI * scale_O[:, None], codes_OI.to(torch.int8), scale_O


def int4_on_grid(
    generator: torch.Generator, rows: int, width: int, group: int, spread: float = OFF_TIE
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # w, codes uint8 [O, I], scale, zero uint8
    """Draw weights whose codes and zeros are known; a group of 1 has one bound at 0."""
    shape = rows, width // group, group
    zero = torch.randint(0, INT4_MOST + 1, (*shape[:2], 1), generator=generator)
    if group == 1:
        zero = INT4_MOST * (zero % 2)
    codes = torch.randint(0, INT4_MOST + 1, shape, generator=generator)
    steps = codes - zero + spread * (2 * torch.rand(shape, generator=generator) - 1)
    steps = torch.minimum(torch.maximum(steps, -zero.float()), (INT4_MOST - zero).float())
    # Both bounds of the range occur, each somewhere in its group.
    order = torch.rand(shape, generator=generator).argsort(2)
    for place, bound in ((order[..., :1], 0), (order[..., -1:], INT4_MOST)):
        if group == 1:
            bound = INT4_MOST - zero  # 15 above a zero of 0, 0 below a zero of 15
        edge = torch.as_tensor(bound).expand(zero.shape)
        codes.scatter_(2, place, edge)
        steps.scatter_(2, place, (edge - zero).float())
    scale = 10.0 ** (4 * torch.rand(shape[:2], generator=generator) - 3)
    w = (steps * scale[..., None]).flatten(1)
    return w, codes.flatten(1).to(torch.uint8), scale, zero.squeeze(2).to(torch.uint8)


def perplexity(
    logits: Callable[[Tensor], Tensor],  # int64 [1, T] -> [1, T, V]
    windows: Tensor,  # int64 [windows, T + 1]
) -> float:
    """Return exp of the mean surprise at the last T tokens of each window."""
    total = 0.0
    for window in windows:
        likely = logits(window[None, :-1])[0].double().log_softmax(-1)
        total -= float(likely.gather(1, window[1:, None]).sum())
    return math.exp(total / (windows.shape[0] * (windows.shape[1] - 1)))
