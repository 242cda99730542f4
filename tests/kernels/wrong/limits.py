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
