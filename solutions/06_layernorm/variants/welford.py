"""Long rows in one pass with Welford's method, strides of both axes in the kernels, atomic sums."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 8192


@triton.jit
def read(base, row, columns, row_stride, column_stride, mask):
    place = row * row_stride + columns.to(tl.int64) * column_stride
    return tl.load(base + place, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def forward_kernel(
    x, weight, bias, y, mean, rstd, width, row_stride, column_stride, eps,
    BLOCK: tl.constexpr, ONE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    if ONE:
        columns = tl.arange(0, BLOCK)
        mask = columns < width
        value = read(x, row, columns, row_stride, column_stride, mask)
        average = tl.sum(value) / width
        apart = tl.where(mask, value - average, 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(apart * apart) / width + eps)
        w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + row * width + columns, apart * scale * w + b, mask=mask)
    else:
        average = 0.0
        spread = 0.0
        for start in range(0, width, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            mask = columns < width
            value = read(x, row, columns, row_stride, column_stride, mask)
            count = tl.minimum(width - start, BLOCK).to(tl.float32)
            local = tl.sum(value) / count
            apart = tl.where(mask, value - local, 0.0)
            # Chan's formula: join what was seen before with this block.
            share = count / (start + count)
            step = local - average
            spread += tl.sum(apart * apart) + step * step * start * share
            average += step * share
        scale = 1.0 / tl.sqrt(spread / width + eps)
        for start in range(0, width, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            mask = columns < width
            value = read(x, row, columns, row_stride, column_stride, mask)
            w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
            b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
            tl.store(y + row * width + columns, (value - average) * scale * w + b, mask=mask)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)


@triton.jit
def short_backward_kernel(
    dy, x, weight, mean, rstd, dx, sums,
    num_rows, width, dy_row, dy_column, x_row, x_column, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows of one block: everything in one kernel."""
    program = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(program, num_rows, tl.num_programs(0)):
        up = read(dy, row, columns, dy_row, dy_column, mask)
        scale = tl.load(rstd + row)
        normal = (read(x, row, columns, x_row, x_column, mask) - tl.load(mean + row)) * scale
        w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        level = tl.sum(up * w) / width
        slope = tl.sum(up * w * normal) / width
        tl.store(dx + row * width + columns, (up * w - level - normal * slope) * scale, mask=mask)
        dw += up * normal
        db += up
    tl.atomic_add(sums + columns, dw, mask=mask)
    tl.atomic_add(sums + width + columns, db, mask=mask)


@triton.jit
def long_backward_kernel(
    dy, x, weight, mean, rstd, dx, width, dy_row, dy_column, x_row, x_column, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    center = tl.load(mean + row)
    scale = tl.load(rstd + row)
    level = 0.0
    slope = 0.0
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        normal = (read(x, row, columns, x_row, x_column, mask) - center) * scale
        inner = read(dy, row, columns, dy_row, dy_column, mask)
        inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        level += tl.sum(inner) / width
        slope += tl.sum(inner * normal) / width
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        normal = (read(x, row, columns, x_row, x_column, mask) - center) * scale
        inner = read(dy, row, columns, dy_row, dy_column, mask)
        inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx + row * width + columns, (inner - level - normal * slope) * scale, mask=mask)


@triton.jit
def columns_kernel(
    dy, x, mean, rstd, sums,
    num_rows, width, dy_row, dy_column, x_row, x_column, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One block of columns and ROWS rows: their share of dweight and dbias."""
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < width
    first = tl.program_id(1).to(tl.int64) * ROWS
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(first, tl.minimum(first + ROWS, num_rows)):
        up = read(dy, row, columns, dy_row, dy_column, mask)
        normal = read(x, row, columns, x_row, x_column, mask) - tl.load(mean + row)
        dw += up * normal * tl.load(rstd + row)
        db += up
    tl.atomic_add(sums + columns, dw, mask=mask)
    tl.atomic_add(sums + width + columns, db, mask=mask)


def layer_norm_forward(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    rows = x.reshape(-1, x.shape[-1])
    num_rows, width = rows.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    mean, rstd = (torch.empty(num_rows, device=x.device) for _ in range(2))
    block = min(triton.next_power_of_2(width), BLOCK)
    given = (rows, weight.contiguous(), bias.contiguous(), y, mean, rstd, width, *rows.stride())
    if num_rows:
        sizes = {"BLOCK": block, "ONE": width <= block}
        forward_kernel[(num_rows,)](*given, eps, **sizes, num_warps=max(block // 1024, 4))
    return y, mean, rstd


def layer_norm_backward(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    up, rows = dy.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1])
    num_rows, width = rows.shape
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    sums = torch.zeros(2, width, dtype=torch.float32, device=x.device)
    block = min(triton.next_power_of_2(width), BLOCK)
    params = weight.contiguous()
    strides = (*up.stride(), *rows.stride())
    if num_rows and width <= BLOCK:
        short_backward_kernel[(min(num_rows, 264),)](
            *(up, rows, params, mean, rstd, dx, sums, num_rows, width, *strides),
            BLOCK=block,
            num_warps=max(block // 1024, 4),
        )
    elif num_rows:
        long_backward_kernel[(num_rows,)](
            *(up, rows, params, mean, rstd, dx, width, *strides), BLOCK=block, num_warps=8
        )
        columns_kernel[(triton.cdiv(width, 1024), triton.cdiv(num_rows, 128))](
            *(up, rows, mean, rstd, sums, num_rows, width, *strides), ROWS=128, BLOCK=1024
        )
    dweight, dbias = sums.to(weight.dtype)
    return dx, dweight, dbias


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
