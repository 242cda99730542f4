"""A row in blocks of at most 16384 columns: three passes forward, two backward.

In backward a second kernel sums 128 rows at a time, a block of columns in each program, and torch
adds up these sums. Most wrong answers are this one with a mistake in it.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_BLOCK = 16384
ROWS_PER_PROGRAM = 128


@triton.jit
def forward_kernel(x, weight, bias, y, mean, rstd, width, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * stride
    y += row * width

    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x + columns, mask=columns < width, other=0.0).to(tl.float32)
    center = tl.sum(total) / width

    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
        apart = tl.where(mask, value - center, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares) / width + eps)

    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + columns, (value - center) * scale * w + b, mask=mask)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)


def layer_norm_forward(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    rows = as_rows(x)
    num_rows, width = rows.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    mean = torch.empty(num_rows, dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    if num_rows > 0:
        block, warps = settings(width)
        forward_kernel[(num_rows,)](
            rows,
            weight.contiguous(),
            bias.contiguous(),
            y,
            mean,
            rstd,
            width,
            rows.stride(0),
            eps,
            BLOCK=block,
            num_warps=warps,
        )
    return y, mean, rstd


@triton.jit
def dx_kernel(
    dy, x, weight, mean, rstd, dx, width, dy_stride, x_stride, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    dy += row * dy_stride
    x += row * x_stride
    dx += row * width
    center = tl.load(mean + row)
    scale = tl.load(rstd + row)

    sums = tl.zeros([BLOCK], tl.float32)
    products = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
        inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
        sums += inner
        products += inner * (value - center) * scale
    level = tl.sum(sums) / width
    slope = tl.sum(products) / width

    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < width
        inner = tl.load(dy + columns, mask=mask, other=0.0).to(tl.float32)
        inner *= tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
        value = tl.load(x + columns, mask=mask, other=0.0).to(tl.float32)
        normal = (value - center) * scale
        tl.store(dx + columns, (inner - level - normal * slope) * scale, mask=mask)


@triton.jit
def parameters_kernel(
    dy, x, mean, rstd, dweight, dbias, num_rows, width, dy_stride, x_stride,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(1).to(tl.int64) * ROWS
    last = tl.minimum(first + ROWS, num_rows)
    mask = columns < width
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(first, last):
        up = tl.load(dy + row * dy_stride + columns, mask=mask, other=0.0).to(tl.float32)
        value = tl.load(x + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
        dw += up * (value - tl.load(mean + row)) * tl.load(rstd + row)
        db += up
    place = tl.program_id(1).to(tl.int64) * width + columns
    tl.store(dweight + place, dw, mask=mask)
    tl.store(dbias + place, db, mask=mask)


def layer_norm_backward(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    up, rows = as_rows(dy), as_rows(x)
    num_rows, width = rows.shape
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if num_rows == 0:
        return dx, torch.zeros_like(weight), torch.zeros_like(weight)
    block, warps = settings(width)
    strides = (up.stride(0), rows.stride(0))
    dx_kernel[(num_rows,)](
        up,
        rows,
        weight.contiguous(),
        mean,
        rstd,
        dx,
        width,
        *strides,
        BLOCK=block,
        num_warps=warps,
    )
    parts = triton.cdiv(num_rows, ROWS_PER_PROGRAM)
    dweight = torch.empty(parts, width, dtype=torch.float32, device=x.device)
    dbias = torch.empty_like(dweight)
    narrow = min(block, 1024)
    parameters_kernel[(triton.cdiv(width, narrow), parts)](
        up,
        rows,
        mean,
        rstd,
        dweight,
        dbias,
        num_rows,
        width,
        *strides,
        ROWS=ROWS_PER_PROGRAM,
        BLOCK=narrow,
    )
    return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)


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


def as_rows(x: Tensor) -> Tensor:
    """Return x as [M, N] with its columns side by side."""
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()


def settings(width: int) -> tuple[int, int]:
    """Return the block's size and the warps that work on it."""
    block = min(triton.next_power_of_2(width), MAX_BLOCK)
    return block, min(max(block // 512, 1), 16)
