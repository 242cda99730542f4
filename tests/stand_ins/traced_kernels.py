"""Kernels whose accesses are known: `make trace` is held against them. Each is launched once."""

import torch
import triton
import triton.language as tl


@triton.jit
def tile(x, r, c, height, width, x_r, x_c):
    return tl.load(x + r * x_r + c * x_c, mask=(r < height) & (c < width), other=0.0)


@triton.jit
def double(x, out, height, width, x_r, x_c, TALL: tl.constexpr, WIDE: tl.constexpr):
    r = tl.program_id(0) * TALL + tl.arange(0, TALL)[:, None]
    c = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]
    values = tile(x, r, c, height, width, x_r, x_c)
    tl.store(out + r * width + c, values * 2, mask=(r < height) & (c < width))


@triton.jit
def total(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < count, other=0.0), axis=0))


@triton.jit
def beyond(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at >= 0))


@triton.jit
def fails(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    if tl.program_id(0) == 1:
        tl.store(out + at, values + tl.zeros((2 * BLOCK,), tl.float32))


def run_double():
    out = torch.empty(3, 5)
    x = torch.arange(30.0).reshape(5, 6)[:, ::2].T  # [3, 5], strides (2, 6)
    double[(2, 2)](x, out, 3, 5, *x.stride(), TALL=2, WIDE=4)
    return out


def run_total():
    out = torch.zeros(1, dtype=torch.bfloat16)
    total[(3,)](torch.arange(10.0).bfloat16(), out, 10, BLOCK=4)
    return out


def run_beyond():
    x, out = torch.arange(8.0)[:3], torch.zeros(4)
    beyond[(1,)](x, out, BLOCK=4)
    return out


def run_fails():
    fails[(3,)](torch.zeros(4), torch.zeros(8), BLOCK=4)


def run_many():
    x, out = torch.zeros(4096), torch.zeros(1)
    for _ in range(10):
        total[(1024,)](x, out, 4096, BLOCK=4)


def run_large():
    out = torch.zeros(3, 100_003)
    double[(1, 1)](torch.zeros(3, 100_003), out, 3, 100_003, 100_003, 1, TALL=4, WIDE=131072)
