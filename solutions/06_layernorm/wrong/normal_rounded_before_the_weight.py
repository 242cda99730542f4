"""Rounds the normalised row to the dtype of x before weight and bias, as many a model does.

Fails: forward, backward, speed
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def forward_kernel(x, weight, bias, y, mean, rstd, width, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width

    value = tl.load(x + row * stride + columns, mask=mask, other=0.0).to(tl.float32)
    center = tl.sum(value) / width
    apart = tl.where(mask, value - center, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart) / width + eps)

    w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(bias + columns, mask=mask, other=0.0).to(tl.float32)
    normal = (apart * scale).to(x.dtype.element_ty).to(tl.float32)
    tl.store(y + row * width + columns, normal * w + b, mask=mask)
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
        block = triton.next_power_of_2(width)
        warps = min(max(block // 1024, 4), 32)
        weight, bias, stride = weight.contiguous(), bias.contiguous(), rows.stride(0)
        forward_kernel[(num_rows,)](
            rows, weight, bias, y, mean, rstd, width, stride, eps, BLOCK=block, num_warps=warps
        )
    return y, mean, rstd


@triton.jit
def backward_kernel(
    dy, x, weight, mean, rstd, dx, dweight, dbias,
    num_rows, width, dy_stride, x_stride, BLOCK: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    w = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)

    for row in range(program, num_rows, tl.num_programs(0)):
        value = tl.load(x + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(dy + row * dy_stride + columns, mask=mask, other=0.0).to(tl.float32)
        scale = tl.load(rstd + row)
        normal = (value - tl.load(mean + row)) * scale
        inner = up * w
        level = tl.sum(inner) / width
        slope = tl.sum(inner * normal) / width
        tl.store(dx + row * width + columns, (inner - level - normal * slope) * scale, mask=mask)
        dw += up * normal
        db += up

    tl.store(dweight + program * width + columns, dw, mask=mask)
    tl.store(dbias + program * width + columns, db, mask=mask)


def layer_norm_backward(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    up, rows = as_rows(dy), as_rows(x)
    num_rows, width = rows.shape
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    programs = min(num_rows, 264)  # two for each multiprocessor of an H100 or H200
    dweight = torch.empty(programs, width, dtype=torch.float32, device=x.device)
    dbias = torch.empty_like(dweight)
    if num_rows > 0:
        block = triton.next_power_of_2(width)
        warps = min(max(block // 1024, 8), 32)
        weight, strides = weight.contiguous(), (up.stride(0), rows.stride(0))
        given = (up, rows, weight, mean, rstd, dx, dweight, dbias, num_rows, width)
        backward_kernel[(programs,)](*given, *strides, BLOCK=block, num_warps=warps)
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
