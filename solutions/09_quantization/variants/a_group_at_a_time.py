"""Written differently: a kernel that loops over groups and takes zeros off their sums.

Int8Linear is an nn.Linear whose weight is a property; a cache doubles its buffers; a model is
emptied of its layers, copied, and filled again.
"""

import copy
from collections.abc import Collection
from typing import Any, Self

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional as F


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    wide = w.detach().to(torch.float32)
    scale = wide.abs().max(-1).values.div_(127)
    scale = scale.where(scale != 0, torch.ones_like(scale))
    return wide.mul(scale.reciprocal().unsqueeze(1)).round().char(), scale


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return scale.view(-1, 1).expand(q.shape) * q


class GroupError(ValueError):
    """A group that does not divide."""


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    if w.size(1) & 1:
        raise ValueError("cannot pair up the columns of w")
    if group <= 0 or w.size(1) != w.size(1) // group * group:
        raise GroupError(f"group {group}")
    codes, scales, zeros = [], [], []
    for start in range(0, w.size(1), group):
        part = w.detach()[:, start : start + group].float()
        low = part.min(1).values.clamp_max(0)
        scale = (part.max(1).values.clamp_min(0) - low) / 15
        scale[scale == 0] = 1
        zero = torch.round(-low / scale)
        code = torch.round(part / scale[:, None]) + zero[:, None]
        codes.append(code.clamp(0, 15))
        scales.append(scale)
        zeros.append(zero)
    both = torch.cat(codes, 1).byte().numpy(force=True)
    packed = np.bitwise_or(both[:, 0::2], np.left_shift(both[:, 1::2], 4))
    stacked = torch.stack(scales).t(), torch.stack(zeros).t().byte()
    return torch.from_numpy(packed).to(w.device), *stacked


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Look codes up in a table of 16 weights for each group."""
    steps = torch.arange(16, device=packed.device) - zero.unsqueeze(-1).int()
    table = steps * scale.unsqueeze(-1)  # [O, I/group, 16]
    codes = torch.stack((packed.remainder(16), packed // 16), -1).long()
    return table.gather(2, codes.reshape(*scale.shape, group)).reshape(packed.shape[0], -1)


@triton.jit
def matmul_kernel(
    x, packed, scale, zero, y, rows, num_out, width, group, OUTS: tl.constexpr, BLOCK: tl.constexpr
):
    """A group at a time: the zero is taken away from the group's sum, not from each code."""
    row = tl.program_id(0)
    out = tl.program_id(1) * OUTS + tl.arange(0, OUTS)
    acc = tl.zeros([OUTS], tl.float32)
    for index in range(0, width // group):
        dot = tl.zeros([OUTS], tl.float32)
        total = 0.0
        for start in range(0, group, BLOCK):
            inside = start + tl.arange(0, BLOCK)
            column = index * group + inside
            value = tl.load(x + row * width + column, mask=inside < group, other=0.0)
            value = value.to(tl.float32)
            mask = (out < num_out)[:, None] & (inside < group)[None, :]
            place = out[:, None] * (width // 2) + (column >> 1)[None, :]
            byte = tl.load(packed + place, mask=mask, other=0).to(tl.int32)
            code = (byte >> ((column & 1) * 4)[None, :]) & 0xF
            dot += tl.sum(code.to(tl.float32) * value[None, :], 1)
            total += tl.sum(value, 0)
        place = out * (width // group) + index
        s = tl.load(scale + place, mask=out < num_out, other=0.0)
        z = tl.load(zero + place, mask=out < num_out, other=0).to(tl.float32)
        acc += s * (dot - z * total)
    tl.store(y + out * rows + row, acc, mask=out < num_out)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out = x.shape[0], packed.shape[0]
    y = x.new_empty((num_out, rows))  # column by column
    inputs = [item.contiguous() for item in (x, packed, scale, zero)]
    block = max(16, min(128, triton.next_power_of_2(group)))
    sizes = (rows, num_out, x.shape[1], group)
    matmul_kernel[rows, triton.cdiv(num_out, 16)](*inputs, y, *sizes, OUTS=16, BLOCK=block)
    return y.t()


class Int8Linear(nn.Linear):
    """An nn.Linear whose weight is made whenever it is asked for."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        q, scale = quantize_int8(linear.weight)
        self.register_buffer("q", q)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        return cls(linear)

    @property
    def weight(self) -> Tensor:
        return dequantize_int8(self.q, self.scale)

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x)
        return F.linear(x, self.weight.to(x.dtype), bias)


class Int4Linear(nn.Module):
    """Computes a few outputs at a time, in float32, so that no whole weight is ever made."""

    def __init__(self, *parts: Tensor, group: int, bias: Tensor | None) -> None:
        super().__init__()
        self.parts, self.group, self.bias = parts, group, bias

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        bias = None if linear.bias is None else linear.bias.detach().float()
        made = cls(*quantize_int4(linear.weight, group), group=group, bias=bias)
        return made

    def forward(self, x: Tensor) -> Tensor:
        wide, outs = x.float(), []
        for parts in zip(*(part.split(16) for part in self.parts), strict=True):
            outs.append(wide @ dequantize_int4(*parts, self.group).mT)
        y = torch.cat(outs, dim=-1)
        return (y if self.bias is None else y + self.bias).to(x.dtype)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    """Lift the layers out, copy what is left, and put them back."""
    top = nn.Sequential(model)  # so that each layer has a parent
    places = [
        (parent, name, child)
        for parent in top.modules()
        for name, child in parent._modules.items()
        if isinstance(child, nn.Linear) and name not in set(skip)
    ]
    stubs = {id(child): nn.Identity() for _, _, child in places}
    try:
        for parent, name, child in places:
            parent._modules[name] = stubs[id(child)]
        new, found = copy.deepcopy((top, stubs))
    finally:
        for parent, name, child in places:
            parent._modules[name] = child
    made = {
        id(found[id(child)]): linear_cls.from_float(child)
        for child in {id(child): child for _, _, child in places}.values()
    }
    for parent in list(new.modules()):
        for name, child in parent._modules.items():
            parent._modules[name] = made.get(id(child), child)
    return new[0]


class QuantizedCache:
    """Buffers that double when they are full."""

    def __init__(self) -> None:
        self.length = 0
        self.store: tuple[Tensor, ...] = ()

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        end = self.length + k.shape[2]
        if not self.store or end > self.store[0].shape[2]:
            room = max(end, 2 * self.store[0].shape[2] if self.store else 1)
            new = []
            for index in range(4):
                shape = (*k.shape[:2], room, 1 if index % 2 else k.shape[3])
                kind = torch.float32 if index % 2 else torch.int8
                item = torch.empty(shape, dtype=kind, device=k.device)
                if self.store:
                    item[:, :, : self.length] = self.store[index][:, :, : self.length]
                new.append(item)
            self.store = tuple(new)
        back = []
        for codes, scales, x in ((*self.store[:2], k), (*self.store[2:], v)):
            q, scale = quantize_int8(x.flatten(0, 2))
            codes[:, :, self.length : end] = q.view(x.shape)
            scales[:, :, self.length : end] = scale.view(*x.shape[:3], 1)
            back.append((codes[:, :, :end] * scales[:, :, :end]).to(x.dtype))
        self.length = end
        return back[0], back[1]

    def rewind(self, n: int) -> None:
        if n not in range(self.length + 1):
            raise ValueError(f"n={n}")
        self.length -= n
