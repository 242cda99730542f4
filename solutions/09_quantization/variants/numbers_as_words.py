"""Written differently: bit arithmetic on int32 words, split-K sums by torch, chunks in lists.

Zeros are folded into an offset; a model is rebuilt module by module; Int4Linear keeps a float zero.
"""

import copy
from collections.abc import Collection
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:
    wide = w.to(torch.float64)
    scale = torch.linalg.vector_norm(wide, ord=torch.inf, dim=-1) / 127
    scale = scale.masked_fill(scale == 0, 1)
    return (wide / scale[:, None]).round_().to(torch.int8), scale.float()


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    return torch.einsum("oi,o->oi", q.to(torch.float32), scale)


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    num_out, width = w.shape
    if width & 1:
        raise ValueError(f"w: {width} columns do not pair up")
    if group < 1 or width % group:
        raise ValueError(f"group: {width} columns are no multiple of {group}")
    blocks = w.detach().to(torch.float64).reshape(-1, group)
    edges = torch.nn.functional.pad(blocks, (0, 1))  # a 0 in every range
    low, high = edges.aminmax(dim=1, keepdim=True)
    scale = (high - low) / 15
    scale[scale == 0] = 1
    zero = torch.round(low / -scale)
    codes = torch.round(blocks / scale).add_(zero).clamp_(0, 15).to(torch.int32)
    pairs = codes.reshape(num_out, width // 2, 2)
    packed = (pairs * torch.tensor([1, 16], dtype=torch.int32, device=w.device)).sum(-1)
    shape = num_out, width // group
    return packed.to(torch.uint8), scale.float().reshape(shape), zero.to(torch.uint8).reshape(shape)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    wide = packed.to(torch.int16)
    codes = torch.stack((wide % 16, wide // 16), dim=-1).reshape(packed.shape[0], -1, group)
    return ((codes - zero[..., None].short()) * scale[..., None]).reshape(packed.shape[0], -1)


@triton.jit
def partial_kernel(
    x, x_row, x_column, packed, packed_row, packed_column, scale, zero, part,
    rows, num_out, half, groups, group,
    SPLIT: tl.constexpr, OUTS: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[:, None]
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(2)
    acc = tl.zeros([OUTS], tl.float32)
    start = split * BYTES
    while start < half:
        byte = (start + tl.arange(0, BYTES)[None, :]).to(tl.int64)
        inside = (out < num_out) & (byte < half)
        word = tl.load(packed + out * packed_row + byte * packed_column, mask=inside, other=0)
        word = word.to(tl.int32)
        place = out * groups + 2 * byte // group
        s = tl.load(scale + place, mask=inside, other=0.0)
        z = tl.load(zero + place, mask=inside, other=0).to(tl.int32)
        even = tl.load(x + row * x_row + 2 * byte * x_column, mask=byte < half, other=0.0)
        acc += tl.sum(even.to(tl.float32) * (((word & 15) - z).to(tl.float32) * s), 1)
        place = out * groups + (2 * byte + 1) // group
        s = tl.load(scale + place, mask=inside, other=0.0)
        z = tl.load(zero + place, mask=inside, other=0).to(tl.int32)
        odd = tl.load(x + row * x_row + (2 * byte + 1) * x_column, mask=byte < half, other=0.0)
        acc += tl.sum(odd.to(tl.float32) * (((word >> 4) - z).to(tl.float32) * s), 1)
        start += SPLIT * BYTES
    flat = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)
    tl.store(part + (split * rows + row) * num_out + flat, acc, mask=flat < num_out)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    (rows, width), num_out, split = x.shape, packed.shape[0], 3
    part = torch.empty(split, rows, num_out, device=x.device)
    sizes = (rows, num_out, width // 2, width // group, group)
    partial_kernel[rows, triton.cdiv(num_out, 16), split](
        *(x, *x.stride(), packed, *packed.stride(), scale.contiguous(), zero.contiguous()),
        *(part, *sizes),
        **{"SPLIT": split, "OUTS": 16, "BYTES": 64},
    )
    return part.sum(0).to(x.dtype)


class Int8Linear(nn.Module):
    @classmethod
    def from_float(cls, linear: nn.Linear) -> "Int8Linear":
        made = cls()
        made.q, made.scale = quantize_int8(linear.weight.detach())
        made.bias = linear.bias
        return made

    def forward(self, x: Tensor) -> Tensor:
        y = x @ dequantize_int8(self.q, self.scale).to(x.dtype).T
        return y if self.bias is None else (y + self.bias).to(x.dtype)


class Int4Linear(nn.Module):
    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> "Int4Linear":
        made = cls()
        made.packed, made.scale, zero = quantize_int4(linear.weight.detach(), group)
        made.offset = zero * made.scale  # float32: weights are code * scale - offset
        made.group, made.bias = group, linear.bias
        return made

    def forward(self, x: Tensor) -> Tensor:
        codes = torch.stack((self.packed & 15, self.packed >> 4), -1).flatten(1)
        groups = codes.unflatten(1, (-1, self.group))
        weight = (groups * self.scale[..., None] - self.offset[..., None]).flatten(1)
        y = x @ weight.to(x.dtype).T
        return y if self.bias is None else (y + self.bias).to(x.dtype)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    made: dict[int, nn.Module] = {}

    def rebuilt(module: nn.Module) -> nn.Module:
        if id(module) not in made:
            if isinstance(module, nn.Linear):
                made[id(module)] = linear_cls.from_float(module)
            else:
                new = copy.copy(module)  # parameters are shared: they are only read
                made[id(module)] = new
                new._modules = {
                    name: child if isinstance(child, nn.Linear) and name in skip else rebuilt(child)
                    for name, child in module._modules.items()
                }
        return made[id(module)]

    return rebuilt(model)


class QuantizedCache:
    def __init__(self) -> None:
        self._tokens: list[tuple[Tensor, ...]] = []  # of one token each: two codes, two scales

    @property
    def length(self) -> int:
        return len(self._tokens)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        for token in torch.stack((k, v)).unbind(3):
            scale = token.float().abs().amax(-1, keepdim=True) / 127
            scale = torch.where(scale == 0, 1, scale)
            self._tokens.append(((token.float() / scale).round().char(), scale))
        both = [codes * scale for codes, scale in self._tokens]
        keys, values = torch.stack(both, 3).to(k.dtype)
        return keys, values

    def rewind(self, n: int) -> None:
        if n < 0 or n > self.length:
            raise ValueError(f"n = {n} tokens cannot be dropped from {self.length}")
        del self._tokens[self.length - n :]
