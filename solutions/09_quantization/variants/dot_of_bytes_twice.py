"""Written differently: one kernel of ``tl.dot`` that loads each byte twice, groups as a list.

A model is converted parent by parent; the cache fills a buffer that grows by 64 tokens at least.
"""

import copy
from collections.abc import Collection
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


def rows_of_scales(w: Tensor) -> Tensor:  # [..., D] -> float32 [..., 1]
    scale = w.float().abs().max(dim=-1, keepdim=True).values.div(127)
    return scale + (scale == 0).float()


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    scale = rows_of_scales(w.detach())
    return torch.round(w.detach().float() / scale).char(), scale.squeeze(-1)


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return q * scale.unsqueeze(1)


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = w.shape
    if group < 1 or columns % group > 0:
        raise ValueError(f"group = {group} does not divide the {columns} columns of w")
    if columns % 2 > 0:
        raise ValueError(f"w: the number of columns, {columns}, is odd")
    parts = [part.detach().float() for part in w.split(group, dim=1)]
    none = torch.zeros(rows, device=w.device)
    low = torch.stack([torch.minimum(part.min(1).values, none) for part in parts], dim=1)
    high = torch.stack([torch.maximum(part.max(1).values, none) for part in parts], dim=1)
    scale = (high - low) / 15
    scale[scale == 0] = 1.0
    zero = (0 - low).div(scale).round()
    codes = [
        torch.clip(torch.round(part / scale[:, i, None]) + zero[:, i, None], 0, 15)
        for i, part in enumerate(parts)
    ]
    nibbles = torch.cat(codes, dim=1).to(torch.uint8)
    return nibbles[:, ::2] + 16 * nibbles[:, 1::2], scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    column = torch.arange(2 * packed.shape[1], device=packed.device)
    codes = packed[:, column // 2].int() >> (4 * (column % 2))[None] & 15
    place = column // group
    return (codes - zero[:, place].int()).float() * scale[:, place]


@triton.jit
def dot_kernel(
    x, packed, scale, zero, y, rows, num_out, width, group,
    ROWS: tl.constexpr, OUTS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    out = tl.program_id(0).to(tl.int64) * OUTS + tl.arange(0, OUTS)
    acc = tl.zeros([ROWS, OUTS], tl.float32)
    for start in range(0, width, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        in_x = (row[:, None] < rows) & (column[None, :] < width)
        value = tl.load(x + row[:, None] * width + column[None, :], mask=in_x, other=0.0)
        inside = (column[:, None] < width) & (out[None, :] < num_out)
        # Each byte is loaded twice, once for each of its columns.
        place = out[None, :] * (width // 2) + (column // 2)[:, None]
        byte = tl.load(packed + place, mask=inside, other=0).to(tl.int32)
        code = (byte >> (4 * (column % 2))[:, None]) & 15
        place = out[None, :] * (width // group) + (column // group)[:, None]
        s = tl.load(scale + place, mask=inside, other=0.0)
        z = tl.load(zero + place, mask=inside, other=0).to(tl.int32)
        weight = (code - z).to(tl.float32) * s
        acc += tl.dot(value.to(tl.float32), weight, input_precision="ieee")
    there = (row[:, None] < rows) & (out[None, :] < num_out)
    tl.store(y + row[:, None] * num_out + out[None, :], acc, mask=there)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out = x.shape[0], packed.shape[0]
    y = x.new_empty(rows, num_out)
    inputs = [item.contiguous() for item in (x, packed, scale, zero)]
    grid = (triton.cdiv(num_out, 32), triton.cdiv(rows, 16))
    sizes = (rows, num_out, x.shape[1], group)
    dot_kernel[grid](*inputs, y, *sizes, ROWS=16, OUTS=32, COLUMNS=64)
    return y


class Quantized(nn.Module):
    """What the two layers share: ``parts`` in buffers, a weight that lives for one call."""

    def __init__(self, parts: dict[str, Tensor], bias: Tensor | None) -> None:
        super().__init__()
        for name, part in parts.items():
            self.register_buffer(name, part)
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone(), False)

    def weight_now(self) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        y = torch.matmul(x, self.weight_now().to(x.dtype).t())
        return y if self.bias is None else y.add_(self.bias)


class Int8Linear(Quantized):
    @classmethod
    def from_float(cls, linear: nn.Linear) -> "Int8Linear":
        return cls(dict(zip(("q", "s"), quantize_int8(linear.weight), strict=True)), linear.bias)

    def weight_now(self) -> Tensor:
        return dequantize_int8(self.q, self.s)


class Int4Linear(Quantized):
    group = 32

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> "Int4Linear":
        parts = dict(zip(("p", "s", "z"), quantize_int4(linear.weight, group), strict=True))
        made = cls(parts, linear.bias)
        made.group = group
        return made

    def weight_now(self) -> Tensor:
        return dequantize_int4(self.p, self.s, self.z, self.group)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    if isinstance(model, nn.Linear):
        return linear_cls.from_float(model)
    new = copy.deepcopy(model)
    known: dict[int, nn.Module] = {}
    for parent in list(new.modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, nn.Linear) and name not in skip:
                if id(child) not in known:
                    known[id(child)] = linear_cls.from_float(child)
                parent._modules[name] = known[id(child)]
    return new


class QuantizedCache:
    def __init__(self) -> None:
        self.length = 0
        self._room = 0
        self._store: dict[str, Tensor] = {}

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        end = self.length + k.shape[2]
        self._grow(k, end)
        both = torch.stack((k, v))  # [2, B, G, T, D]
        scale = rows_of_scales(both)
        self._store["codes"][..., self.length : end, :] = (both.float() / scale).round().char()
        self._store["scale"][..., self.length : end, :] = scale
        self.length = end
        codes, scale = (self._store[name][..., :end, :] for name in ("codes", "scale"))
        keys, values = (codes * scale).to(k.dtype)
        return keys, values

    def _grow(self, k: Tensor, length: int) -> None:
        if length <= self._room:
            return
        self._room = max(length, self._room + 64)
        batch, groups, _, width = k.shape
        for name, last, dtype in (("codes", width, torch.int8), ("scale", 1, torch.float32)):
            new = torch.zeros(2, batch, groups, self._room, last, dtype=dtype, device=k.device)
            if name in self._store:
                new[..., : self.length, :] = self._store[name][..., : self.length, :]
            self._store[name] = new

    def rewind(self, n: int) -> None:
        if n > self.length or n < 0:
            raise ValueError(f"n: there are {self.length} tokens, not {n}")
        self.length -= n
