"""Programs that add into one address by load, add and store: the last of them wins."""

import torch
import triton
import triton.language as tl


@triton.jit
def _sum(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    before = tl.load(total)  # finds: read-write
    tl.store(total, before + part)  # finds: write-write


def sum_of_all():
    _sum[(4,)](torch.ones(50), torch.zeros(1), 50, BLOCK=16)


@triton.jit
def _dweight(dy, x, dw, rows, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < width
    row = tl.program_id(0) * width
    grad = tl.load(dy + row + column, mask=inside) * tl.load(x + row + column, mask=inside)
    grad += tl.load(dw + column, mask=inside)  # finds: read-write
    tl.store(dw + column, grad, mask=inside)  # finds: write-write


def gradient_of_a_weight():
    _dweight[(6,)](torch.ones(6, 13), torch.ones(6, 13), torch.zeros(13), 6, 13, BLOCK=16)


@triton.jit
def _column_max(x, out, width, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)
    inside = column < width
    top = tl.max(tl.load(x + row * stride + column[None, :], inside[None, :], other=-1e30), axis=0)
    known = tl.load(out + column, mask=inside)  # finds: read-write
    tl.store(out + column, tl.maximum(top, known), mask=inside)  # finds: write-write


def maximum_of_columns():
    x = torch.randn(8, 11)
    _column_max[(4,)](x, torch.full((11,), -1e30), 11, 11, ROWS=2, BLOCK=16)


@triton.jit
def _histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=7), 8)
    place = bins + tl.arange(0, 8)
    tl.store(place, tl.load(place) + counts)  # finds: read-write, write-write


def histogram_without_atomics():
    _histogram[(3,)](
        torch.arange(40, dtype=torch.int32) % 7, torch.zeros(8, dtype=torch.int32), 40, BLOCK=16
    )


@triton.jit
def _split_k(a, b, c, k, SPLIT: tl.constexpr, SIDE: tl.constexpr):
    down, across = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    first = tl.program_id(0) * SPLIT
    left = tl.load(a + down * k + first + across, mask=first + across < k, other=0.0)
    right = tl.load(b + (first + down) * SIDE + across, mask=first + down < k, other=0.0)
    place = c + down * SIDE + across
    total = tl.load(place)  # finds: read-write
    tl.store(place, tl.dot(left, right, total))  # finds: write-write


def split_k_by_stores():
    _split_k[(3,)](
        torch.ones(16, 40), torch.ones(40, 16), torch.zeros(16, 16), 40, SPLIT=16, SIDE=16
    )


@triton.jit
def _compact(x, out, used, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    keep = value > 0
    start = tl.load(used)  # finds: read-write
    place = start + tl.cumsum(keep.to(tl.int32), axis=0) - 1
    tl.store(out + place, value, mask=keep)
    tl.store(used, start + tl.sum(keep.to(tl.int32), axis=0))  # finds: write-write


def place_taken_without_atomic():
    _compact[(4,)](
        torch.arange(30.0) - 9, torch.zeros(30), torch.zeros(1, dtype=torch.int32), 30, BLOCK=8
    )


@triton.jit
def _both(dy, x, dw, db, width, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < width
    at = tl.program_id(0) * width + column
    grad = tl.load(dy + at, mask=inside, other=0.0)
    tl.atomic_add(dw + column, grad * tl.load(x + at, mask=inside, other=0.0), mask=inside)
    level = tl.load(db + column, mask=inside, other=0.0)  # finds: read-write
    tl.store(db + column, level + grad, mask=inside)  # finds: write-write


def second_gradient_without_atomic():
    _both[(5,)](
        torch.ones(5, 12), torch.ones(5, 12), torch.zeros(12), torch.zeros(12), 12, BLOCK=16
    )


@triton.jit
def _running(x, mean, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0) / BLOCK
    tl.store(mean, 0.9 * tl.load(mean) + 0.1 * here)  # finds: read-write, write-write


def running_mean():
    _running[(4,)](torch.ones(32), torch.zeros(1), 32, BLOCK=8)
