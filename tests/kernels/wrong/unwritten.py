"""Memory that was never written before it is read."""

import torch
import triton
import triton.language as tl


@triton.jit
def _add_up(x, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at), axis=0))  # finds: unwritten


def sum_added_to_empty():
    _add_up[(4,)](torch.ones(32), torch.empty(1), BLOCK=8)


@triton.jit
def _partials(x, partial, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + tl.program_id(0), tl.sum(tl.load(x + at), axis=0))


@triton.jit
def _fold(partial, out, COUNT: tl.constexpr):
    tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT)), axis=0))  # finds: unwritten


def more_partial_sums_than_programs():
    partial = torch.empty(8)
    _partials[(5,)](torch.ones(40), partial, BLOCK=8)
    _fold[(1,)](partial, torch.empty(1), COUNT=8)


@triton.jit
def _scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def _add_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1 + tl.load(x + at, mask=at < n), mask=at < n)  # finds: unwritten


def grid_rounded_down():
    middle = torch.empty(30)
    _scale[(30 // 8,)](torch.ones(30), middle, 30, BLOCK=8)
    _add_one[(4,)](middle, torch.empty(30), 30, BLOCK=8)


@triton.jit
def _locked(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:  # finds: unwritten
        pass
    tl.store(out + at, tl.load(out + at) + tl.load(x + at))
    tl.atomic_xchg(lock, 0)


def lock_of_empty_memory():
    _locked[(2,)](torch.ones(8), torch.zeros(8), torch.empty(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _center(x, mean, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width, other=0.0)
    apart = value - tl.load(mean + row)  # finds: unwritten
    tl.store(mean + row, tl.sum(value, axis=0) / width)
    tl.store(out + row * width + at, apart, mask=at < width)


def mean_read_before_it_is_stored():
    x = torch.ones(3, 6)
    _center[(3,)](x, x.new_empty(3), torch.empty_like(x), 6, BLOCK=8)
