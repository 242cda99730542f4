"""Kernels that come close to each mistake in ``wrong``, and do not make it."""

import torch
import triton
import triton.language as tl


@triton.jit
def _look_back(x, out, ticket, ready, sums, n, BLOCK: tl.constexpr):
    """Scan in one launch: a part's number is the ticket it drew, so those before it have begun."""
    part = tl.atomic_add(ticket, 1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    while tl.atomic_add(ready, 0, sem="acquire") != part:
        pass
    before = tl.load(sums + part)
    tl.store(sums + part + 1, before + tl.sum(value, axis=0))
    tl.atomic_add(ready, 1, sem="release")
    tl.store(out + at, before + tl.cumsum(value, axis=0), mask=at < n)


def scan_in_one_launch_by_tickets():
    x, out = torch.rand(50), torch.empty(50)
    ticket, ready = torch.zeros(2, dtype=torch.int32)
    sums = torch.empty(8)
    sums[0] = 0
    _look_back[(7,)](x, out, ticket, ready, sums, 50, BLOCK=8)
    return out, x.cumsum(0)


@triton.jit
def _queue(x, out, taken, blocks, n, BLOCK: tl.constexpr):
    block = tl.atomic_add(taken, 1, sem="relaxed")
    while block < blocks:
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
        block = tl.atomic_add(taken, 1, sem="relaxed")


def blocks_taken_from_a_queue():
    x, out = torch.randn(90), torch.empty(90)
    _queue[(5,)](x, out, torch.zeros(1, dtype=torch.int32), 12, 90, BLOCK=8)
    return out, 2 * x


@triton.jit
def _count_down(left, out):
    turns = 0
    while tl.atomic_add(left, -1) > 0:
        turns += 1
    tl.atomic_add(out, turns)


def loop_of_many_atomics_that_ends():
    left, out = torch.full((1,), 1200, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    _count_down[(2,)](left, out)
    return out, torch.full((1,), 1200)


@triton.jit
def _largest(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mine = tl.max(tl.load(x + at, mask=at < n, other=-1), axis=0)
    seen = tl.atomic_add(out, 0)
    while (mine > seen) & (tl.atomic_cas(out, seen, tl.maximum(mine, seen)) != seen):
        seen = tl.atomic_add(out, 0)


def maximum_by_compare_and_swap():
    x = torch.randint(0, 1000, (70,), dtype=torch.int32)
    out = torch.full((1,), -1, dtype=torch.int32)
    _largest[(9,)](x, out, 70, BLOCK=8)
    return out, x.amax().view(1)


@triton.jit
def _flag(x, flag, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.min(tl.load(x + at, mask=at < n, other=0.0), axis=0) < 0:
        tl.atomic_xchg(flag, 1)


def one_flag_set_by_all_with_an_exchange():
    flag = torch.zeros(1, dtype=torch.int32)
    _flag[(4,)](-torch.ones(60), flag, 60, BLOCK=16)
    return flag, torch.ones(1)


@triton.jit
def _every_second(x, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) + PROGRAMS * tl.arange(0, BLOCK)
    tl.store(out + at, -tl.load(x + at, mask=at < n), mask=at < n)


def elements_of_two_programs_in_turn():
    x, out = torch.randn(27), torch.empty(27)
    _every_second[(2,)](x, out, 27, PROGRAMS=2, BLOCK=16)
    return out, -x


@triton.jit
def _own_rows(x, side, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    place = x + row * side + (at + 1) % side
    value = tl.load(x + row * side + at, mask=at < side)
    tl.debug_barrier()
    tl.store(place, value, mask=at < side)


def rows_turned_in_place():
    x = torch.randn(5, 6)
    want = x.roll(1, 1)
    _own_rows[(5,)](x, 6, BLOCK=8)
    return x, want


@triton.jit
def _partials(x, parts, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + at), axis=0))


@triton.jit
def _sum_of(parts, count, out, ROOM: tl.constexpr):
    at = tl.arange(0, ROOM)
    tl.store(out, tl.sum(tl.load(parts + at, mask=at < count, other=0.0), axis=0))


def room_that_is_never_read():
    x, parts, out = torch.randn(40), torch.empty(8), torch.empty(1)
    _partials[(5,)](x, parts, BLOCK=8)
    _sum_of[(1,)](parts, 5, out, ROOM=8)
    return out, x.sum().view(1)


@triton.jit
def _softmax_of_seen(x, seen, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < width
    kept = tl.load(seen + row * width + at, mask=inside, other=0) != 0
    value = tl.load(x + row * width + at, mask=inside & kept)
    value = tl.where(inside & kept, value, -float("inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * width + at, weight / tl.sum(weight, axis=0), mask=inside)


def lanes_hidden_by_data_get_minus_infinity():
    x, seen = torch.randn(4, 13), torch.randint(0, 2, (4, 13), dtype=torch.int8)
    seen[:, 3] = 1
    out = torch.empty(4, 13)
    _softmax_of_seen[(4,)](x, seen, out, 13, BLOCK=16)
    return out, x.masked_fill(seen == 0, -torch.inf).softmax(1)


@triton.jit
def _dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, EXACT: tl.constexpr):
    row, column = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    left = tl.load(a + row * K + tl.arange(0, K)[None, :])
    right = tl.load(b + tl.arange(0, K)[:, None] * N + column)
    precision: tl.constexpr = "ieee" if EXACT else "tf32"
    tl.store(c + row * N + column, tl.dot(left, right, input_precision=precision))


def _product(m, n, k, exact):
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    _dot[(1,)](a, b, c, M=m, N=n, K=k, EXACT=exact)
    return c, a @ b


def blocks_of_two_hundred_kilobytes():
    _dot  # noqa: B018
    return _product(128, 256, 128, exact=False)


def large_blocks_that_are_multiplied_exactly():
    _dot  # noqa: B018
    return _product(256, 64, 256, exact=True)


@triton.jit
def _whole_row(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, value / tl.sum(value, axis=0))


def block_that_just_fills_the_registers():
    x, out = torch.rand(65536), torch.empty(65536)
    _whole_row[(1,)](x, out, BLOCK=65536)
    return out, x / x.sum()
