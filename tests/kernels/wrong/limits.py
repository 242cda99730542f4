"""Numbers too large: offsets for 32 bits, blocks for a GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def _read_rows(x, out, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    offset = row * stride  # finds: overflow
    tl.store(out + row * BLOCK + at, tl.load(x + offset + at))


def row_times_stride_in_int32():
    x = torch.empty_strided((3, 8), (1 << 30, 1), dtype=torch.int8)
    x.fill_(1)
    _read_rows[(3,)](x, torch.empty(3, 8, dtype=torch.int8), x.stride(0), BLOCK=8)


@triton.jit
def _cast_late(x, out, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    offset = (row * stride).to(tl.int64)  # finds: overflow
    tl.store(out + row * BLOCK + at, tl.load(x + offset + at))


def cast_after_the_product():
    x = torch.empty_strided((3, 8), (1 << 30, 1), dtype=torch.int8)
    x.fill_(1)
    _cast_late[(3,)](x, torch.empty(3, 8, dtype=torch.int8), x.stride(0), BLOCK=8)


@triton.jit
def _planes(x, out, plane, row_stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in range(2):
        offset = plane + row * row_stride  # finds: overflow
        tl.store(out + row * BLOCK + at, tl.load(x + offset + at))


def sum_of_offsets_in_int32():
    x = torch.empty_strided((5, 8), (1 << 29, 1), dtype=torch.int8)
    x.fill_(1)
    _planes[(1,)](x, torch.empty(2, 8, dtype=torch.int8), 3 << 29, 1 << 29, BLOCK=8)


@triton.jit
def _large(a, b, c, M: tl.constexpr, K: tl.constexpr):
    row, across = tl.arange(0, M)[:, None], tl.arange(0, K)[None, :]
    column = tl.arange(0, M)[None, :]
    left = tl.load(a + row * K + across)
    right = tl.load(b + tl.arange(0, K)[:, None] * M + column)
    tl.store(c + row * M + column, tl.dot(left, right))  # finds: too large


def blocks_of_half_a_megabyte():
    _large[(1,)](torch.ones(256, 256), torch.ones(256, 256), torch.empty(256, 256), M=256, K=256)


@triton.jit
def _tall(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    across = tl.arange(0, K)
    left = tl.load(a + row * K + across[None, :])
    right = tl.load(b + across[:, None] * N + column)
    total = tl.dot(left, right)  # finds: too large
    for half in tl.static_range(2):
        kept = (row + column) % 2 == half
        part = tl.where(kept, total, 0.0).to(tl.float16)
        tl.store(c + row * N + column, part, mask=kept)


def sums_of_half_a_megabyte():
    a, b = torch.ones(512, 16).half(), torch.ones(16, 256).half()
    _tall[(1,)](a, b, torch.empty(512, 256, dtype=torch.float16), M=512, N=256, K=16)


@triton.jit
def _row(x, out, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < width, other=0.0)  # finds: too large
    total = tl.sum(value, axis=0)
    tl.store(out + at, value / total, mask=at < width)  # finds: too large


def row_of_a_hundred_thousand_in_one_block():
    _row[(1,)](torch.ones(100_000), torch.empty(100_000), 100_000, BLOCK=131072)


@triton.jit
def _whole_tensor(x, out, ROWS: tl.constexpr, WIDE: tl.constexpr):
    place = tl.arange(0, ROWS)[:, None] * WIDE + tl.arange(0, WIDE)[None, :]
    total = tl.sum(tl.load(x + place), axis=0)  # finds: too large
    tl.store(out + tl.arange(0, WIDE), total)


def whole_matrix_in_one_program():
    _whole_tensor[(1,)](torch.ones(256, 512), torch.empty(512), ROWS=256, WIDE=512)


@triton.jit
def _fill(out):
    tl.store(out, 1.0)


def rows_on_the_second_axis():
    _fill[(1, 65_536)](torch.empty(1))  # finds: grid


def heads_on_the_third_axis():
    _fill[lambda _: (2, 3, 70_000)](torch.empty(1))  # finds: grid


def elements_on_the_first_axis():
    _fill[(1 << 31,)](torch.empty(1))  # finds: grid
