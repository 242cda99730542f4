"""Stores that meet in one address."""

import torch
import triton
import triton.language as tl


@triton.jit
def _any_negative(x, flag, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    low = tl.min(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    if low < 0:
        tl.store(flag, 1)  # finds: same value


def same_flag_from_all():
    _any_negative[(4,)](-torch.ones(60), torch.zeros(1, dtype=torch.int32), 60, BLOCK=16)


@triton.jit
def _copy_rows(x, out, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + column, mask=column < width)
    tl.store(out + row * (width - 1) + column, value, mask=column < width)  # finds: write-write


def stride_of_the_output_short_by_one():
    _copy_rows[(5,)](torch.randn(5, 9), torch.empty(5, 9), 9, BLOCK=16)


@triton.jit
def _double(x, out, blocks, n, BLOCK: tl.constexpr):
    at = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)  # finds: same value


def more_programs_than_blocks():
    _double[(6,)](torch.randn(30), torch.empty(30), 4, 30, BLOCK=8)


@triton.jit
def _scatter(x, to, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + tl.load(to + at), tl.load(x + at))  # finds: write-write


def scatter_to_one_place_twice():
    _scatter[(1,)](torch.arange(16.0), torch.arange(16) // 2, torch.zeros(8), BLOCK=16)


@triton.jit
def _row_sums(x, out, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + column, mask=column < width, other=0.0)
    tl.store(out + row + tl.zeros_like(column), value)  # finds: write-write


def forgotten_sum():
    _row_sums[(3,)](torch.randn(3, 10), torch.empty(3), 10, BLOCK=16)


@triton.jit
def _zero_and_add(x, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(total, 0.0)  # finds reversed: write-write
    tl.atomic_add(total, tl.sum(tl.load(x + at), axis=0))  # finds reversed: unwritten


def zeroed_by_one_program():
    _zero_and_add[(4,)](torch.ones(32), torch.empty(1), BLOCK=8)


@triton.jit
def _overlapping(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)  # finds: same value


def half_a_block_too_near():
    _overlapping[(4,)](torch.randn(32), torch.empty(32), 32, BLOCK=16)


@triton.jit
def _row_max(x, out, width, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    column = part * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * width + column, mask=column < width, other=-float("inf"))
    tl.store(out + row, tl.max(value, axis=0))  # finds: write-write


def parts_of_a_row_in_one_place():
    _row_max[(3, 2)](torch.randn(3, 20), torch.empty(3), 20, BLOCK=16)


@triton.jit
def _scale(x, out, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0) // 2, tl.arange(0, BLOCK)
    value = tl.load(x + row * width + column, mask=column < width)
    tl.store(out + row * width + column, 2 * value, mask=column < width)  # finds: same value


def rows_taken_by_two_programs():
    _scale[(6,)](torch.randn(3, 10), torch.empty(3, 10), 10, BLOCK=16)


@triton.jit
def _centered(x, weight, mean, out, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < width
    level = tl.sum(tl.load(weight + column, mask=inside, other=0.0), axis=0) / width
    tl.store(mean, level)  # finds: same value
    value = tl.load(x + row * width + column, mask=inside)
    tl.store(out + row * width + column, value - level, mask=inside)


def mean_of_the_weight_stored_by_all():
    x = torch.randn(4, 10)
    _centered[(4,)](x, torch.randn(10), torch.empty(1), torch.empty_like(x), 10, BLOCK=16)


@triton.jit
def _cleared(x, counts, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(counts + tl.arange(0, BINS), tl.zeros((BINS,), tl.int32))  # finds: same value
    tl.store(out + at, tl.load(x + at) + 1)


def memory_cleared_by_every_program():
    counts = torch.empty(4, dtype=torch.int32)
    _cleared[(3,)](torch.randn(24), counts, torch.empty(24), BLOCK=8, BINS=4)
