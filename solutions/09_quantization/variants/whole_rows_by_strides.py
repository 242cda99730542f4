"""Written differently: a kernel whose blocks are whole rows, and that takes any strides.

numpy quantizes; a layer is one buffer of bytes, or a product for each group; a cache is a tensor of
bytes around 128, tokens first.
"""

import copy
from collections.abc import Collection
from typing import Any, Self

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor, nn


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    rows = w.detach().double().numpy(force=True)
    scale = np.maximum(rows.max(1, initial=0), -rows.min(1, initial=0)) / 127
    scale[scale == 0] = 1
    codes = np.array([np.rint(row / step) for row, step in zip(rows, scale, strict=True)])
    pair = codes.astype(np.int8), scale.astype(np.float32)
    return torch.tensor(pair[0], device=w.device), torch.tensor(pair[1], device=w.device)


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return torch.mul(q.double(), scale.double().unsqueeze(1)).float()


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    if w.shape[-1] % 2 != 0:
        raise ValueError(f"w: {list(w.shape)} has an odd last axis")
    if group <= 0 or w.shape[-1] % group != 0:
        raise ValueError(f"group: {group}")
    wide = w.detach().float().numpy(force=True)
    starts = np.arange(0, wide.shape[1], group)
    low = np.minimum(np.minimum.reduceat(wide, starts, axis=1), 0)
    high = np.maximum(np.maximum.reduceat(wide, starts, axis=1), 0)
    scale = (high - low) / np.float32(15)
    scale[scale == 0] = 1
    zero = np.rint(-low / scale)
    codes = np.rint(wide / scale.repeat(group, 1)) + zero.repeat(group, 1)
    codes = np.clip(codes, 0, 15).astype(np.int8)
    packed = (codes[:, ::2] + (codes[:, 1::2] << 4)).view(np.uint8)  # int8 wraps to the same bits
    parts = packed, scale, zero.astype(np.uint8)
    packed, scale, zero = (torch.from_numpy(part).to(w.device) for part in parts)
    return packed, scale, zero


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    bits = packed.to(torch.int16)
    signed = torch.cat((bits & 15, bits >> 4), 1)  # evens, then odds
    order = torch.arange(signed.shape[1], device=packed.device).view(2, -1).t().flatten()
    signed = signed[:, order] - torch.repeat_interleave(zero, group, 1).to(torch.int16)
    return torch.einsum("ogi,og->ogi", signed.view(*scale.shape, group).float(), scale).flatten(1)


@triton.jit
def matmul_kernel(
    x, packed, scale, zero, y, rows, num_out, sxr, sxc, spr, spc, ssr, ssc, szr, szc,
    WIDTH: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """A whole row of the weights in one block, with some of x; every argument by its strides."""
    row = tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    byte = tl.arange(0, HALF).to(tl.int64)
    in_x = (row < rows)[:, None] & (byte < WIDTH // 2)[None, :]
    even = tl.load(x + row[:, None] * sxr + (2 * byte)[None, :] * sxc, mask=in_x, other=0.0)
    odd = tl.load(x + row[:, None] * sxr + (2 * byte + 1)[None, :] * sxc, mask=in_x, other=0.0)
    out = tl.program_id(0).to(tl.int64)
    inside = byte < WIDTH // 2
    both = tl.load(packed + out * spr + byte * spc, mask=inside, other=0)
    g = 2 * byte // GROUP
    s = tl.load(scale + out * ssr + g * ssc, mask=inside, other=0.0)
    z = tl.load(zero + out * szr + g * szc, mask=inside, other=0).to(tl.int32)
    low = ((both & 15).to(tl.int32) - z).to(tl.float32) * s
    g = (2 * byte + 1) // GROUP
    s = tl.load(scale + out * ssr + g * ssc, mask=inside, other=0.0)
    z = tl.load(zero + out * szr + g * szc, mask=inside, other=0).to(tl.int32)
    high = ((both >> 4).to(tl.int32) - z).to(tl.float32) * s
    acc = even.to(tl.float32) * low[None, :] + odd.to(tl.float32) * high[None, :]
    total = tl.sum(acc, 1).to(even.dtype)
    tl.store(y + row * num_out + out, total, mask=row < rows)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    (rows, width), num_out = x.shape, len(packed)
    y = torch.full((rows, num_out), torch.nan, dtype=x.dtype, device=x.device)
    strides = [step for item in (x, packed, scale, zero) for step in item.stride()]
    half = max(16, triton.next_power_of_2(width // 2))
    tile = min(triton.next_power_of_2(rows), 8)
    matmul_kernel[num_out, triton.cdiv(rows, tile)](
        x, packed, scale, zero, y, rows, num_out, *strides,
        WIDTH=width, GROUP=group, ROWS=tile, HALF=half,
    )  # fmt: skip
    return y


class Int8Linear(nn.Module):
    """All that is kept lies in one buffer of bytes."""

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        self = cls()
        self.size = tuple(linear.weight.shape)
        parts = [part.view(torch.uint8).flatten() for part in quantize_int8(linear.weight)]
        if linear.bias is not None:
            parts.append(linear.bias.detach().float().view(torch.uint8))
        self.register_buffer("blob", torch.cat(parts), persistent=False)
        return self

    def forward(self, x: Tensor) -> Tensor:
        rows, width = self.size
        codes, rest = self.blob[: rows * width], self.blob[rows * width :].clone()
        floats = rest.view(torch.float32)
        y = x.float() @ codes.view(torch.int8).view(rows, width).float().t() * floats[:rows]
        return (y + floats[rows:] if len(floats) > rows else y).to(x.dtype)


class Int4Linear(nn.Module):
    """Splits x by groups: a small product for each group, then its scale."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = None

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> "Int4Linear":
        self = Int4Linear()
        self.group = group
        with torch.inference_mode():
            self.packed, self.scale, self.zero = quantize_int4(linear.weight, group)
        if linear.bias is not None:
            self.bias = nn.Parameter(linear.bias.data.clone())
        return self

    def forward(self, x: Tensor) -> Tensor:
        codes = dequantize_int4(self.packed, torch.ones_like(self.scale), self.zero, self.group)
        xs = x.float().unflatten(-1, (-1, self.group))
        ws = codes.unflatten(-1, (-1, self.group))
        y = torch.einsum("...gi,ogi,og->...o", xs, ws, self.scale)
        return (y if self.bias is None else y + self.bias).to(x.dtype)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    memo: dict[nn.Module, nn.Module] = {}

    def replace(parent: nn.Module) -> None:
        for name, child in parent._modules.items():
            if isinstance(child, nn.Linear) and name not in skip:
                if child not in memo:
                    memo[child] = linear_cls.from_float(child)
                parent._modules[name] = memo[child]

    top = nn.Sequential(copy.deepcopy(model)).apply(replace)
    return top[0]


class QuantizedCache:
    """Codes of tokens by tokens, [S, 2, B, G, D], as bytes around 128; results are views."""

    def __init__(self) -> None:
        self.codes: list[Tensor] = []
        self.scales: list[Tensor] = []

    @property
    def length(self) -> int:
        return self.codes[0].shape[0] if self.codes else 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.stack((k, v)).permute(3, 0, 1, 2, 4).float()
        scale = both.abs().amax(-1, keepdim=True) / 127
        scale = scale.masked_fill(scale == 0, 1.0)
        self.codes.append((both.div(scale).round() + 128).byte())
        self.scales.append(scale)
        self.codes, self.scales = [torch.cat(self.codes)], [torch.cat(self.scales)]
        back = (self.codes[0].float() - 128).mul_(self.scales[0]).to(k.dtype)
        return back[:, 0].permute(1, 2, 0, 3), back[:, 1].permute(1, 2, 0, 3)

    def rewind(self, n: int) -> None:
        left = self.length - n
        if left < 0 or n < 0:
            raise ValueError(f"cannot rewind: n = {n}")
        if n:
            self.codes = [self.codes[0][:left].clone()]
            self.scales = [self.scales[0][:left].clone()]
