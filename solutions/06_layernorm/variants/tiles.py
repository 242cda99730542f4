"""Tiles of several rows and, in long rows, of some columns at a time; three passes over long rows.

In backward each program owns consecutive rows and its own line of partial sums in memory, to which
it adds tile by tile: no other program touches the line.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def forward_kernel(
    x, weight, bias, y, mean, rstd, num_rows, width, stride, eps,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, ONE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < num_rows
    lanes = tl.arange(0, COLUMNS)
    if ONE:
        mask = there[:, None] & (lanes < width)[None, :]
        value = tl.load(x + row[:, None] * stride + lanes[None, :], mask=mask, other=0.0)
        value = value.to(tl.float32)
        center = tl.sum(value, axis=1) / width
        apart = tl.where(mask, value - center[:, None], 0.0)
        scale = tl.rsqrt(tl.sum(apart * apart, axis=1) / width + eps)
        w = tl.load(weight + lanes, mask=lanes < width, other=0.0).to(tl.float32)
        b = tl.load(bias + lanes, mask=lanes < width, other=0.0).to(tl.float32)
        normal = apart * scale[:, None]
        tl.store(y + row[:, None] * width + lanes[None, :], normal * w[None, :] + b[None, :], mask)
    else:
        total = tl.zeros([ROWS], tl.float32)
        for start in range(0, width, COLUMNS):
            mask = there[:, None] & (start + lanes < width)[None, :]
            value = tl.load(x + row[:, None] * stride + start + lanes[None, :], mask, other=0.0)
            total += tl.sum(value.to(tl.float32), axis=1)
        center = total / width
        squares = tl.zeros([ROWS], tl.float32)
        for start in range(0, width, COLUMNS):
            mask = there[:, None] & (start + lanes < width)[None, :]
            value = tl.load(x + row[:, None] * stride + start + lanes[None, :], mask, other=0.0)
            apart = tl.where(mask, value.to(tl.float32) - center[:, None], 0.0)
            squares += tl.sum(apart * apart, axis=1)
        scale = tl.rsqrt(squares / width + eps)
        for start in range(0, width, COLUMNS):
            columns = start + lanes
            mask = there[:, None] & (columns < width)[None, :]
            value = tl.load(x + row[:, None] * stride + columns[None, :], mask, other=0.0)
            w = tl.load(weight + columns, mask=columns < width, other=0.0).to(tl.float32)
            b = tl.load(bias + columns, mask=columns < width, other=0.0).to(tl.float32)
            normal = (value.to(tl.float32) - center[:, None]) * scale[:, None]
            place = y + row[:, None] * width + columns[None, :]
            tl.store(place, normal * w[None, :] + b[None, :], mask)
    tl.store(mean + row, center, mask=there)
    tl.store(rstd + row, scale, mask=there)


@triton.jit
def backward_kernel(
    dy, x, weight, mean, rstd, dx, dweight, dbias,
    num_rows, width, dy_stride, x_stride, share, BLOCK: tl.constexpr, ONE: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    first = program * share
    last = tl.minimum(first + share, num_rows)
    dweight += program * width
    dbias += program * width
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(first, last):
        center = tl.load(mean + row)
        scale = tl.load(rstd + row)
        if ONE:
            mask = lanes < width
            up = tl.load(dy + row * dy_stride + lanes, mask=mask, other=0.0).to(tl.float32)
            value = tl.load(x + row * x_stride + lanes, mask=mask, other=0.0).to(tl.float32)
            inner = up * tl.load(weight + lanes, mask=mask, other=0.0).to(tl.float32)
            normal = (value - center) * scale
            level = tl.sum(inner) / width
            slope = tl.sum(inner * normal) / width
            out = (inner - level - normal * slope) * scale
            tl.store(dx + row * width + lanes, out, mask=mask)
            dw += up * normal
            db += up
        else:
            level = 0.0
            slope = 0.0
            for start in range(0, width, BLOCK):
                columns = start + lanes
                mask = columns < width
                up = tl.load(dy + row * dy_stride + columns, mask=mask, other=0.0).to(tl.float32)
                value = tl.load(x + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
                inner = up * tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
                normal = (value - center) * scale
                level += tl.sum(inner) / width
                slope += tl.sum(inner * normal) / width
                kept = tl.load(dweight + columns, mask=mask, other=0.0)
                tl.store(dweight + columns, kept + up * normal, mask=mask)
                kept = tl.load(dbias + columns, mask=mask, other=0.0)
                tl.store(dbias + columns, kept + up, mask=mask)
            for start in range(0, width, BLOCK):
                columns = start + lanes
                mask = columns < width
                up = tl.load(dy + row * dy_stride + columns, mask=mask, other=0.0).to(tl.float32)
                value = tl.load(x + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
                inner = up * tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
                normal = (value - center) * scale
                out = (inner - level - normal * slope) * scale
                tl.store(dx + row * width + columns, out, mask=mask)
    if ONE:
        tl.store(dweight + lanes, dw, mask=lanes < width)
        tl.store(dbias + lanes, db, mask=lanes < width)


def layer_norm_forward(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    flat = x.contiguous().view(-1, x.shape[-1])
    num_rows, width = flat.shape
    y = torch.empty_like(flat)
    statistics = torch.empty(2, num_rows, dtype=torch.float32, device=x.device)
    one = width <= 16384
    columns = triton.next_power_of_2(width) if one else 4096
    rows = max(1, 8192 // columns)
    if num_rows:
        forward_kernel[(triton.cdiv(num_rows, rows),)](
            *(flat, weight.contiguous(), bias.contiguous(), y, *statistics),
            *(num_rows, width, width, eps),
            **{"ROWS": rows, "COLUMNS": columns, "ONE": one},
            num_warps=8,
        )
    return y.view(x.shape), statistics[0], statistics[1]


def layer_norm_backward(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    flat, up = x.contiguous().view(-1, x.shape[-1]), dy.contiguous().view(-1, x.shape[-1])
    num_rows, width = flat.shape
    dx = torch.empty_like(flat)
    share = max(triton.cdiv(num_rows, 264), 1)
    parts = triton.cdiv(num_rows, share)
    sums = torch.zeros(2, parts, width, dtype=torch.float32, device=x.device)
    one = width <= 8192
    if num_rows:
        backward_kernel[(parts,)](
            *(up, flat, weight.contiguous(), mean, rstd, dx, *sums),
            *(num_rows, width, width, width, share),
            **{"BLOCK": triton.next_power_of_2(width) if one else 4096, "ONE": one},
            num_warps=8,
        )
    dweight, dbias = torch.sum(sums, dim=1).to(weight.dtype).unbind()
    return dx.view(x.shape), dweight, dbias


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        y, mean, rstd = layer_norm_forward(x, weight, bias, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight, mean, rstd = ctx.saved_tensors
        dx, dweight, dbias = layer_norm_backward(dy, x, weight, mean, rstd)
        return dx, dweight, dbias, None


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return LayerNorm.apply(x, weight, bias, eps)
