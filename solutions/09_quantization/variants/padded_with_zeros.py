"""Written differently: a kernel without masks, all that it reads padded with zeros by torch.cat.

Int8Linear is an nn.Linear of the meta device that computes a few outputs at a time; a model is
converted breadth first; a cache is a list of updates, values as more heads.
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
    w = w.detach().double()
    scale = (w.abs().amax(1) / 127).float()
    scale[scale == 0] = 1.0
    steps = w / scale.double()[:, None]
    floor = steps.floor()
    part = steps - floor
    up = (part > 0.5) | ((part == 0.5) & (floor % 2 == 1))
    return (floor + up).clamp(-127, 127).to(torch.int8), scale


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:
    table = torch.arange(-128, 128, device=q.device, dtype=torch.float32)
    return (table[q.long() + 128].T * scale).T.contiguous()


def quantize_int4(w: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    if w.shape[-1] & 1:
        raise ValueError(f"w: {w.shape[-1]} columns, an odd number")
    if group < 1 or w.shape[-1] % group:
        raise ValueError(f"group: {group} does not divide {w.shape[-1]}")
    groups = F.pad(w.detach().float().unflatten(1, (-1, group)), (0, 1))
    ordered = groups.sort(-1).values
    low, high = ordered[..., 0], ordered[..., -1]
    scale = ((high - low) / 15).clone()
    scale.masked_fill_(scale == 0, 1.0)
    zero = torch.round(-low / scale)
    steps = torch.round(groups[..., :-1] / scale[..., None]) + zero[..., None]
    codes = torch.minimum(steps, steps.new_tensor(15.0)).flatten(1)
    packed = F.conv1d(codes[:, None], codes.new_tensor([[[1.0, 16.0]]]), stride=2)[:, 0]
    return packed.to(torch.uint8), scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    shift = torch.tensor([0, 4], device=packed.device, dtype=torch.uint8)
    codes = ((packed[..., None] >> shift) & 15).flatten(1)
    wide = scale[..., None].expand(-1, -1, group).flatten(1)
    offset = zero.float()[..., None].expand(-1, -1, group).flatten(1)
    return wide * (codes - offset)


@triton.jit
def halves_kernel(
    even, odd, packed, scale, zero, y, num_out, half, groups, group,
    ROWS: tl.constexpr, OUTS: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """Multiply even columns with low halves, odd ones with high halves."""
    out = tl.program_id(0) * OUTS + tl.arange(0, OUTS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros([ROWS, OUTS], tl.float32)
    start = 0
    while start < half:
        at = start + tl.arange(0, BYTES)
        byte = tl.load(packed + out[None, :] * half + at[:, None])
        place = out[None, :] * groups + tl.minimum(2 * at // group, groups - 1)[:, None]
        z = tl.load(zero + place).to(tl.float32)
        low = ((byte & 15).to(tl.float32) - z) * tl.load(scale + place)
        place = out[None, :] * groups + tl.minimum((2 * at + 1) // group, groups - 1)[:, None]
        z = tl.load(zero + place).to(tl.float32)
        high = ((byte >> 4).to(tl.float32) - z) * tl.load(scale + place)
        left = tl.load(even + row[:, None] * half + at[None, :]).to(tl.float32)
        right = tl.load(odd + row[:, None] * half + at[None, :]).to(tl.float32)
        acc = tl.dot(left, low, acc, input_precision="ieee")
        acc = tl.dot(right, high, acc, input_precision="ieee")
        start += BYTES
    tl.store(y + row[:, None] * num_out + out[None, :], acc)


def padded(item: Tensor, rows: int, columns: int) -> Tensor:
    """Append zeros until rows and columns are multiples."""
    more = item.new_zeros(item.shape[0], -item.shape[1] % columns)
    item = torch.cat((item, more), dim=1)
    return torch.cat((item, item.new_zeros(-item.shape[0] % rows, item.shape[1])))


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out = x.shape[0], packed.shape[0]
    even, odd = (padded(x[:, at::2], 16, 16) for at in (0, 1))
    packed, scale, zero = padded(packed, 16, 16), padded(scale, 16, 1), padded(zero, 16, 1)
    y = torch.empty(even.shape[0], packed.shape[0], device=x.device)
    grid = (packed.shape[0] // 16, even.shape[0] // 16)
    sizes = (y.shape[1], packed.shape[1], scale.shape[1], group)
    halves_kernel[grid](even, odd, packed, scale, zero, y, *sizes, ROWS=16, OUTS=16, BYTES=16)
    return y[:rows, :num_out].to(x.dtype)


class Int8Linear(nn.Linear):
    """An nn.Linear made on the meta device, its weight taken away."""

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        has_bias = linear.bias is not None
        made = cls(linear.in_features, linear.out_features, has_bias, device="meta")
        del made.weight
        made.register_buffer("q", None)
        made.q, made.scale = quantize_int8(linear.weight)
        if has_bias:
            made.bias = nn.Parameter(linear.bias.detach().clone())
        return made

    def forward(self, x: Tensor) -> Tensor:
        y = torch.cat(
            [
                x.float() @ dequantize_int8(q, s).T
                for q, s in zip(self.q.split(7), self.scale.split(7), strict=True)
            ],
            dim=-1,
        )
        return (y if self.bias is None else y + self.bias).to(x.dtype)


class Int4Linear(nn.Module):
    def __init__(self, stored: dict[str, Tensor], group: int, bias: Tensor | None) -> None:
        super().__init__()
        self.stored, self.group = nn.ParameterDict(), group
        for name, item in stored.items():
            self.stored[name] = nn.Parameter(item, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias)

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        packed, scale, zero = quantize_int4(linear.weight, group)
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls({"packed": packed, "scale": scale, "zero": zero}, group, bias)

    def forward(self, x: Tensor) -> Tensor:
        stored = (self.stored[name] for name in ("packed", "scale", "zero"))
        weight = dequantize_int4(*stored, self.group).to(x.dtype)
        y = torch.nn.functional.linear(x, weight)
        return y if self.bias is None else y + self.bias.to(y)


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    top = nn.ModuleList([copy.deepcopy(model)])
    made: dict[nn.Module, nn.Module] = {}
    queue: list[nn.Module] = [top]
    seen: set[int] = set()
    while queue:
        parent = queue.pop(0)
        if id(parent) in seen:
            continue
        seen.add(id(parent))
        for name in list(parent._modules):
            child = parent._modules[name]
            if child is None:
                continue
            if isinstance(child, nn.Linear):
                if name not in frozenset(skip):
                    if child not in made:
                        made[child] = linear_cls.from_float(child)
                    parent._modules[name] = made[child]
            else:
                queue.append(child)
    return top[0]


class QuantizedCache:
    def __init__(self) -> None:
        self.length = 0
        self._updates: list[tuple[Tensor, Tensor]] = []

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat((k, v), dim=1)  # values are more heads
        codes, scale = quantize_int8(both.reshape(-1, k.shape[-1]))
        self._updates.append((codes.reshape(both.shape), scale.reshape(both.shape[:-1])))
        self.length += k.shape[2]
        parts = [codes * scale.unsqueeze(-1) for codes, scale in self._updates]
        keys, values = torch.cat(parts, 2).to(k.dtype).chunk(2, 1)
        return keys, values

    def rewind(self, n: int) -> None:
        if n < 0 or self.length < n:
            raise ValueError(f"n: {n} tokens are more than {self.length}")
        self.length -= n
        while n > 0:
            codes, scale = self._updates.pop()
            left = max(0, codes.shape[2] - n)
            n -= codes.shape[2] - left
            if left:
                self._updates.append((codes[:, :, :left], scale[:, :, :left]))
