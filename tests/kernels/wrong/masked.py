"""Lanes that a mask hides, used as if they held something."""

import torch
import triton
import triton.language as tl


@triton.jit
def _row_sum(x, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width)  # finds: masked
    tl.store(out + row, tl.sum(value, axis=0))


def sum_without_other():
    _row_sum[(3,)](torch.ones(3, 6), torch.empty(3), 6, BLOCK=8)


def sum_of_half_without_other():
    _row_sum[(3,)](torch.ones(3, 6).half(), torch.empty(3), 6, BLOCK=8)


def sum_of_bfloat16_without_other():
    _row_sum[(3,)](torch.ones(3, 6).bfloat16(), torch.empty(3), 6, BLOCK=8)


@triton.jit
def _softmax(x, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width)  # finds: masked
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * width + at, weight / tl.sum(weight, axis=0), mask=at < width)


def softmax_without_other():
    _softmax[(3,)](torch.randn(3, 11), torch.empty(3, 11), 11, BLOCK=16)


@triton.jit
def _product(a, b, out, k, SIDE: tl.constexpr):
    down, across = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    left = tl.load(a + down * k + across, mask=across < k, other=0.0)
    right = tl.load(b + down * SIDE + across, mask=down < k)  # finds: masked
    tl.store(out + down * SIDE + across, tl.dot(left, right))


def zeros_on_one_side_of_a_product():
    _product[(1,)](torch.ones(16, 10), torch.ones(10, 16), torch.empty(16, 16), 10, SIDE=16)


@triton.jit
def _copy(x, out, n, room, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)  # finds: masked
    tl.store(out + at, value, mask=at < room)


def stored_under_a_wider_mask():
    _copy[(2,)](torch.ones(12), torch.empty(16), 12, 16, BLOCK=8)


@triton.jit
def _weight_sum(x, weight, total, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    scale = tl.load(weight + at, mask=at < width)  # finds: masked
    tl.atomic_add(total, tl.sum(value + scale, axis=0))


def one_of_two_without_other():
    _weight_sum[(3,)](torch.ones(3, 6), torch.ones(6), torch.zeros(1), 6, BLOCK=8)
