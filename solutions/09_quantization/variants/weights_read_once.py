"""Written differently: a kernel that reads each weight once for all rows and adds up by atomics.

numpy quantizes int8; layers keep transposed codes; a chunk of the cache is bytes, scales inside.
"""

import copy
from collections.abc import Collection
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor, nn


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    rows = w.detach().cpu().to(torch.float32).numpy()
    scale = np.abs(rows).max(axis=1, keepdims=True) / np.float32(127)
    scale[scale == 0] = 1
    codes = np.rint(rows / scale).astype(np.int8)
    return torch.from_numpy(codes).to(w.device), torch.from_numpy(scale[:, 0]).to(w.device)


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return (q.t().float() * scale).t()


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    pairs, odd = divmod(w.shape[1], 2)
    if odd:
        raise ValueError("w needs an even number of columns")
    count, rest = divmod(w.shape[1], max(group, 1))
    if rest or group < 1:
        raise ValueError(f"the group size {group} leaves {rest} columns over")
    w = w.detach().float()
    index = torch.arange(count, device=w.device).repeat_interleave(group).expand(w.shape)
    none = torch.zeros(w.shape[0], count, device=w.device)
    low = none.scatter_reduce(1, index, w, "amin")  # the zeros take part
    high = none.scatter_reduce(1, index, w, "amax")
    scale = (high - low) / 15
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    zero = torch.round(-low / scale)
    codes = torch.round(w / scale.gather(1, index)) + zero.gather(1, index)
    codes = codes.clamp(0, 15).view(-1, pairs, 2)
    packed = torch.add(codes[..., 0], codes[..., 1], alpha=16)
    return packed.to(torch.uint8), scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    table = torch.arange(256, device=packed.device)
    table = torch.stack((table % 16, table // 16), 1).float()  # both codes of each byte
    weight = table[packed.long()].reshape(packed.shape[0], -1)
    for start in range(0, weight.shape[1], group):
        here = weight[:, start : start + group]
        here.sub_(zero[:, start // group, None]).mul_(scale[:, start // group, None])
    return weight


@triton.jit
def atomic_kernel(
    x, packed, scale, zero, y, rows, num_out, width, groups, group,
    OUTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    out = (tl.program_id(0) * OUTS + tl.arange(0, OUTS)).to(tl.int64)
    half = tl.program_id(1) * (COLUMNS // 2) + tl.arange(0, COLUMNS // 2)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    here = out[:, None] < num_out
    inside = here & (half < width // 2)[None, :]
    both = tl.load(packed + out[:, None] * (width // 2) + half[None, :], mask=inside, other=0)
    code = tl.interleave(both & 15, both >> 4).to(tl.float32)
    inside = here & (column < width)[None, :]
    place = out[:, None] * groups + (column // group)[None, :]
    code -= tl.load(zero + place, mask=inside, other=0).to(tl.float32)
    weight = code * tl.load(scale + place, mask=inside, other=0.0)
    for row in range(rows):
        value = tl.load(x + row * width + column, mask=column < width, other=0.0).to(tl.float32)
        part = tl.sum(weight * value[None, :], 1)
        tl.atomic_add(y + row * num_out + out, part, mask=out < num_out)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, width = x.shape
    num_out, groups = scale.shape
    y = torch.zeros((rows, num_out), dtype=torch.float32, device=x.device)
    given = [tensor.contiguous() for tensor in (x, packed, scale, zero)]
    grid = (triton.cdiv(num_out, 64), triton.cdiv(width, 128))
    sizes = (rows, num_out, width, groups, group)
    atomic_kernel[grid](*given, y, *sizes, OUTS=64, COLUMNS=128)
    return y.to(x.dtype)


class Int8Linear(nn.Module):
    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        q, self.scale = quantize_int8(linear.weight)
        self.columns = q.t().contiguous()  # [I, O]
        self.shift = 0 if linear.bias is None else linear.bias.data.clone()

    @classmethod
    def from_float(cls, linear: nn.Linear) -> "Int8Linear":
        return cls(linear)

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.columns.float().mul_(self.scale).to(x.dtype)
        return (y + self.shift).to(x.dtype)


class Int4Linear(nn.Module):
    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> "Int4Linear":
        layer = cls()
        packed, scale, zero = quantize_int4(linear.weight, group)
        layer.columns = nn.Parameter(packed.t().contiguous(), requires_grad=False)
        layer.scale = nn.Parameter(scale, requires_grad=False)
        layer.zero = nn.Parameter(zero, requires_grad=False)
        layer.group = group
        layer.shift = 0 if linear.bias is None else linear.bias.data.clone()
        return layer

    def forward(self, x: Tensor) -> Tensor:
        weight = dequantize_int4(self.columns.t(), self.scale, self.zero, self.group)
        y = torch.einsum("...i,oi->...o", x, weight.to(x.dtype))
        return (y + self.shift).to(x.dtype)


def put(layer: nn.Module, name: str, model: nn.Module) -> nn.Module:
    """Put a layer at the place of that name; the empty name is that of the whole model."""
    if not name:
        return layer
    path, _, last = name.rpartition(".")
    setattr(model.get_submodule(path), last, layer)
    return model


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    names: dict[nn.Linear, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Linear) and name.split(".")[-1] not in skip:
            names.setdefault(module, []).append(name)
    new = copy.deepcopy(model)
    for linear, places in names.items():
        layer = linear_cls.from_float(linear)
        for name in places:
            new = put(layer, name, new)
    return new


class QuantizedCache:
    """A list of chunks [2, B, G, T, D + 4]: the codes of a head, and the 4 bytes of its scale."""

    def __init__(self) -> None:
        self.chunks: list[Tensor] = []

    @property
    def length(self) -> int:
        return sum(chunk.shape[3] for chunk in self.chunks)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.stack((k, v)).float()
        scale = both.abs().amax(-1, keepdim=True) / 127
        scale[scale == 0] = 1
        codes = (both / scale).round().to(torch.int8)
        self.chunks.append(torch.cat((codes, scale.view(torch.int8)), dim=-1))
        keys, values = torch.cat([self._opened(chunk) for chunk in self.chunks], dim=3).to(k.dtype)
        return keys, values

    @staticmethod
    def _opened(chunk: Tensor) -> Tensor:
        codes, scale = chunk[..., :-4], chunk[..., -4:].contiguous().view(torch.float32)
        return codes * scale

    def rewind(self, n: int) -> None:
        if not 0 <= n <= self.length:
            raise ValueError(f"n must be at most {self.length}, not {n}")
        while n > 0:
            last = self.chunks.pop()
            left = last.shape[3] - n
            n -= min(n, last.shape[3])
            if left > 0:
                self.chunks.append(last[:, :, :, :left])
