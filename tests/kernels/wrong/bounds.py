"""Addresses that belong to no element of what was passed."""

import torch
import triton
import triton.language as tl


def _alone(*shape: int):
    """Ones in the midst of memory of their own: what leaves them meets no other tensor."""
    return torch.ones(3, *shape)[1]


@triton.jit
def _halve(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)  # finds: outside
    tl.store(y + at, value / 2, mask=at < n)


def load_without_a_mask():
    _halve[(4,)](torch.ones(30), torch.empty(30), 30, BLOCK=8)


@triton.jit
def _negate(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, -value)  # finds: outside


def store_without_a_mask():
    _negate[(4,)](torch.ones(30), torch.empty(30), 30, BLOCK=8)


@triton.jit
def _square(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at <= n, other=0.0)  # finds: outside
    tl.store(y + at, value * value, mask=at < n)


def mask_one_too_far():
    _square[(2,)](torch.ones(13), torch.empty(13), 13, BLOCK=8)


@triton.jit
def _copy(x, out, height, width, row_stride, column_stride, TALL: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)[:, None]
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]
    inside = (row < height) & (column < width)
    value = tl.load(x + row * row_stride + column * column_stride, mask=inside)  # finds: outside
    tl.store(out + row * width + column, value, mask=inside)


def stride_taken_from_the_shape():
    x = torch.ones(5, 9)[:, 1:8]
    _copy[(3, 2)](x, torch.empty(5, 7), 5, 7, 7, 1, TALL=2, WIDE=4)


def strides_of_a_transposed_view_swapped():
    x = torch.ones(7, 12)[:, :5].T
    _copy[(3, 2)](x, torch.empty(5, 7), 5, 7, x.stride(1), x.stride(0), TALL=2, WIDE=4)


def step_between_columns_forgotten():
    x = torch.ones(5, 14)[:, ::2]
    _copy[(3, 2)](x, torch.empty(5, 7), 5, 7, 14, 1, TALL=2, WIDE=4)


@triton.jit
def _rows(x, out, height, width, TALL: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)[:, None]
    column = tl.arange(0, WIDE)[None, :]
    inside = column < width
    value = tl.load(x + row * width + column, mask=inside)  # finds: outside
    tl.store(out + row * width + column, value, mask=inside)  # finds: outside


def mask_without_rows():
    _rows[(2,)](_alone(5, 7), _alone(5, 7), 5, 7, TALL=4, WIDE=8)


@triton.jit
def _difference(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(x + at - 1, mask=at < n, other=0.0)  # finds: outside
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) - before, mask=at < n)


def element_before_the_first():
    _difference[(2,)](torch.ones(12), torch.empty(12), 12, BLOCK=8)


@triton.jit
def _matmul(a, b, c, m, n, k, SIDE: tl.constexpr):
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)[:, None]
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for first in range(0, k, SIDE):
        across = first + tl.arange(0, SIDE)
        left = tl.load(a + row * k + across[None, :], mask=row < m, other=0.0)  # finds: outside
        right = tl.load(
            b + across[:, None] * n + column, mask=(across[:, None] < k) & (column < n), other=0.0
        )
        total = tl.dot(left, right, total)
    tl.store(c + row * n + column, total, mask=(row < m) & (column < n))


def tail_of_k_without_a_mask():
    _matmul[(2, 2)](
        torch.ones(20, 24), torch.ones(24, 18), torch.empty(20, 18), 20, 18, 24, SIDE=16
    )


@triton.jit
def _heads(q, k, out, queries, dims, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    head, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < dims
    query = tl.load(q + head * dims + at, mask=inside, other=0.0)
    key = tl.load(k + head * dims + at, mask=inside, other=0.0)  # finds: outside
    tl.store(out + head, tl.sum(query * key, axis=0))


def query_head_taken_for_a_key_head():
    _heads[(8,)](torch.ones(8, 12), _alone(6, 12)[:2], torch.empty(8), 8, 12, GROUP=4, BLOCK=16)


@triton.jit
def _lookup(table, tokens, out, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(tokens + tl.program_id(0))
    value = tl.load(table + row * width + at, mask=at < width)  # finds: outside
    tl.store(out + tl.program_id(0) * width + at, value, mask=at < width)


def token_beyond_the_table():
    tokens = torch.tensor([0, 3, 5])
    _lookup[(3,)](torch.ones(5, 6), tokens, torch.empty(3, 6), 6, BLOCK=8)
