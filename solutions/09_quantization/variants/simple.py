"""The plain kernel, to be read beside the model answer: a row of x and a block of outputs.

Right for every shape. It dequantizes each weight by a conversion and loads its scale and its zero.
"""

import copy
from collections.abc import Collection
from typing import Any, Self

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional as F


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    w = w.detach().float()
    largest = w.abs().amax(dim=1)
    scale = torch.where(largest == 0, 1.0, largest / 127)
    return torch.round(w / scale[:, None]).clamp(-127, 127).to(torch.int8), scale


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return q.float() * scale[:, None]


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    num_out, width = w.shape
    if width % 2 == 1:
        raise ValueError(f"w must have an even number of columns, not {width}")
    if group < 1 or width % group != 0:
        raise ValueError(f"group must divide {width}, and {group} does not")
    w = w.detach().float().reshape(num_out, width // group, group)
    low = w.amin(dim=2).clamp(max=0)
    high = w.amax(dim=2).clamp(min=0)
    scale = torch.where(high == low, 1.0, (high - low) / 15)
    zero = torch.round(-low / scale)
    codes = (torch.round(w / scale[..., None]) + zero[..., None]).clamp(0, 15)
    codes = codes.reshape(num_out, width).to(torch.uint8)
    return codes[:, 0::2] | (codes[:, 1::2] << 4), scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    num_out, half = packed.shape
    codes = torch.empty(num_out, 2 * half, device=packed.device)
    codes[:, 0::2] = (packed & 0x0F).float()
    codes[:, 1::2] = (packed >> 4).float()
    scale = scale.repeat_interleave(group, dim=1)
    zero = zero.float().repeat_interleave(group, dim=1)
    return (codes - zero) * scale


@triton.jit
def matmul_kernel(
    x, packed, scale, zero, y, num_out, width, group, OUTS: tl.constexpr, BYTES: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[:, None]
    acc = tl.zeros([OUTS, BYTES], tl.float32)
    for start in range(0, width // 2, BYTES):
        byte = start + tl.arange(0, BYTES)[None, :]
        mask = (out < num_out) & (byte < width // 2)
        both = tl.load(packed + out * (width // 2) + byte, mask=mask, other=0)
        for half in tl.static_range(2):
            column = 2 * byte + half
            place = out * (width // group) + column // group
            s = tl.load(scale + place, mask=mask, other=0.0)
            z = tl.load(zero + place, mask=mask, other=0).to(tl.float32)
            value = tl.load(x + row * width + column, mask=column < width, other=0.0)
            code = ((both >> (4 * half)) & 15).to(tl.float32)
            acc += value.to(tl.float32) * (code - z) * s
    total = tl.sum(acc, 1)
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)
    tl.store(y + row * num_out + out, total, mask=out < num_out)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out = x.shape[0], packed.shape[0]
    y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
    grid = (rows, triton.cdiv(num_out, 32))
    given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), y)
    if rows > 0:
        matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
    return y


class Int8Linear(nn.Module):
    def __init__(self, q: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("q", q)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int8(linear.weight), bias)

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, dequantize_int8(self.q, self.scale).to(x.dtype), bias)


class Int4Linear(nn.Module):
    def __init__(
        self, packed: Tensor, scale: Tensor, zero: Tensor, group: int, bias: Tensor | None
    ) -> None:
        super().__init__()
        self.group = group
        self.register_buffer("packed", packed)
        self.register_buffer("scale", scale)
        self.register_buffer("zero", zero)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int4(linear.weight, group), group, bias)

    def forward(self, x: Tensor) -> Tensor:
        weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, weight.to(x.dtype), bias)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    if isinstance(model, nn.Linear):
        return linear_cls.from_float(model)
    new = copy.deepcopy(model)
    made: dict[nn.Module, nn.Module] = {}
    for name, module in list(new.named_modules(remove_duplicate=False)):
        parent, _, last = name.rpartition(".")
        if isinstance(module, nn.Linear) and last not in skip:
            if module not in made:
                made[module] = linear_cls.from_float(module)
            setattr(new.get_submodule(parent), last, made[module])
    return new


class QuantizedCache:
    def __init__(self) -> None:
        self.length = 0
        self.parts: list[tuple[Tensor, Tensor]] = []

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        for index, x in enumerate((k, v)):
            q, scale = quantize_int8(x.reshape(-1, x.shape[-1]))
            q, scale = q.reshape(x.shape), scale.reshape(*x.shape[:3], 1)
            if len(self.parts) < 2:
                self.parts.append((q, scale))
            else:
                old_q, old_scale = self.parts[index]
                self.parts[index] = torch.cat((old_q, q), 2), torch.cat((old_scale, scale), 2)
        self.length += k.shape[2]
        keys, values = ((q.float() * scale).to(k.dtype) for q, scale in self.parts)
        return keys, values

    def rewind(self, n: int) -> None:
        if n < 0 or n > self.length:
            raise ValueError(f"n is {n}, more than the {self.length} tokens held")
        self.length -= n
        self.parts = [(q[:, :, : self.length], s[:, :, : self.length]) for q, s in self.parts]
