"""Programs that read what others write in the same launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def _smooth(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0)  # finds: read-write
    right = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(x + at, (left + right) / 2, mask=at < n)  # finds: read-write


def smoothed_in_place():
    _smooth[(4,)](torch.randn(30), 30, BLOCK=8)


@triton.jit
def _shift(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    after = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(x + at, after, mask=at < n)  # finds: read-write


def shifted_in_place():
    _shift[(3,)](torch.randn(24), 24, BLOCK=8)


@triton.jit
def _transpose(x, side, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * side + column, mask=column < side)  # finds: read-write
    tl.store(x + column * side + row, value, mask=column < side)  # finds: read-write


def transposed_in_place():
    _transpose[(6,)](torch.randn(6, 6), 6, BLOCK=8)


@triton.jit
def _two_phases(x, partial, out, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(partial + program, tl.sum(value, axis=0))  # finds: read-write
    tl.debug_barrier()
    total = tl.sum(tl.load(partial + tl.arange(0, PROGRAMS)), axis=0)  # finds: read-write
    tl.store(out + at, value / total)


def barrier_of_one_program_for_all():
    _two_phases[(4,)](torch.ones(32), torch.zeros(4), torch.empty(32), BLOCK=8, PROGRAMS=4)


@triton.jit
def _scan(x, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    sums = tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    carry = tl.load(out + first - 1, mask=first > 0, other=0.0)  # finds: read-write
    tl.store(out + at, sums + carry, mask=at < n)


def carry_of_the_program_before():
    _scan[(4,)](torch.ones(30), torch.empty(30), 30, BLOCK=8)


@triton.jit
def _steps(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner = (at > 0) & (at < n - 1)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 0.5, mask=at < n)  # finds: read-write
    near = tl.load(y + at - 1, mask=inner, other=0.0)  # finds: read-write
    near += tl.load(y + at + 1, mask=inner, other=0.0)
    tl.store(x + at, near, mask=inner)


def two_steps_in_one_launch():
    _steps[(3,)](torch.randn(24), torch.zeros(24), 24, BLOCK=8)


@triton.jit
def _normalise(x, total, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.atomic_add(total, tl.sum(value, axis=0))  # finds: read-write
    tl.store(out + at, value / tl.load(total))


def total_read_before_all_have_added():
    _normalise[(4,)](torch.ones(32), torch.zeros(1), torch.empty(32), BLOCK=8)
