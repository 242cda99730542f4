"""Programs that share memory in order: atomics, locks, counters, and one launch after another."""

import torch
import triton
import triton.language as tl


@triton.jit
def _forward(x, weight, bias, y, mean, rstd, width, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < width
    value = tl.load(x + row * width + at, mask=inside, other=0.0)
    center = tl.sum(value, axis=0) / width
    apart = tl.where(inside, value - center, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / width + eps)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)
    gain, shift = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
    tl.store(y + row * width + at, apart * scale * gain + shift, mask=inside)


@triton.jit
def _backward(
    dx, dy, dw, db, x, weight, mean, rstd, lock, width, GROUPS: tl.constexpr, BLOCK: tl.constexpr
):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < width
    group = row % GROUPS
    lock += group
    count = lock + GROUPS
    value = tl.load(x + row * width + at, mask=inside, other=0.0)
    grad = tl.load(dy + row * width + at, mask=inside, other=0.0)
    gain = tl.load(weight + at, mask=inside, other=0.0)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (value - tl.load(mean + row)) * scale, 0.0)
    inner = gain * grad
    along = tl.sum(normal * inner, axis=0) / width
    level = tl.sum(inner, axis=0) / width
    tl.store(dx + row * width + at, (inner - normal * along - level) * scale, mask=inside)
    part_w, part_b = grad * normal, grad
    dw += group * width + at
    db += group * width + at
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw, mask=inside)
        part_b += tl.load(db, mask=inside)
    tl.store(dw, part_w, mask=inside)
    tl.store(db, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def _fold(parts, out, rows, width, TALL: tl.constexpr, WIDE: tl.constexpr):
    column = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    total = tl.zeros((TALL, WIDE), tl.float32)
    for first in range(0, rows, TALL):
        row = first + tl.arange(0, TALL)
        inside = (row[:, None] < rows) & (column[None, :] < width)
        total += tl.load(parts + row[:, None] * width + column[None, :], mask=inside, other=0.0)
    tl.store(out + column, tl.sum(total, axis=0), mask=column < width)


def layer_norm_with_locks():
    rows, width, groups = 30, 50, 4
    x, dy = torch.randn(rows, width), torch.randn(rows, width)
    weight, bias = torch.randn(width), torch.randn(width)
    y, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
    _forward[(rows,)](x, weight, bias, y, mean, rstd, width, 1e-5, BLOCK=64)
    lock = torch.zeros(2 * groups, dtype=torch.int32)
    dx, dw, db = torch.empty_like(x), torch.empty(groups, width), torch.empty(groups, width)
    _backward[(rows,)](dx, dy, dw, db, x, weight, mean, rstd, lock, width, GROUPS=groups, BLOCK=64)
    dweight, dbias = torch.empty(width), torch.empty(width)
    _fold[(4,)](dw, dweight, groups, width, TALL=4, WIDE=16)
    _fold[(4,)](db, dbias, groups, width, TALL=4, WIDE=16)
    normal = (x - x.mean(1, True)) * rstd[:, None]
    return torch.cat((dweight, dbias)), torch.cat(((dy * normal).sum(0), dy.sum(0)))


@triton.jit
def _locked(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + at)
    while tl.atomic_xchg(lock, 1, sem="acquire") == 1:
        pass
    tl.store(out + at, tl.load(out + at) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


def lock_by_exchange():
    x, out = torch.randn(9, 16), torch.zeros(16)
    _locked[(9,)](x, out, torch.zeros(1, dtype=torch.int32), BLOCK=16)
    return out, x.sum(0)


@triton.jit
def _mean_of_columns(dy, x, dw, db, rows, width, TALL: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)[:, None]
    column = tl.arange(0, WIDE)
    inside = (row < rows) & (column[None, :] < width)
    grad = tl.load(dy + row * width + column[None, :], mask=inside, other=0.0)
    value = tl.load(x + row * width + column[None, :], mask=inside, other=0.0)
    tl.atomic_add(dw + column, tl.sum(grad * value, axis=0), mask=column < width)
    tl.atomic_add(db + column, tl.sum(grad, axis=0), mask=column < width)


def gradients_by_atomics():
    x, dy = torch.randn(2, 45, 20)
    dw, db = torch.zeros(2, 20)
    _mean_of_columns[(6,)](dy, x, dw, db, 45, 20, TALL=8, WIDE=32)
    return torch.stack((dw, db)), torch.stack(((dy * x).sum(0), dy.sum(0)))


@triton.jit
def _total(x, partial, done, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + program, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))
    if tl.atomic_add(done, 1) == tl.num_programs(0) - 1:
        place = tl.arange(0, PROGRAMS)
        part = tl.load(partial + place, mask=place < tl.num_programs(0), other=0.0)
        tl.store(out, tl.sum(part, axis=0))


def partial_sums_folded_by_the_last():
    x, out = torch.randn(100), torch.empty(1)
    done = torch.zeros(1, dtype=torch.int32)
    _total[(7,)](x, torch.empty(7), done, out, 100, BLOCK=16, PROGRAMS=8)
    return out, x.sum().view(1)


@triton.jit
def _histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + tl.arange(0, BINS), tl.histogram(value, BINS, mask=at < n))


@triton.jit
def _count_each(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


def histograms_by_atomics():
    x = torch.randint(0, 8, (75,), dtype=torch.int32)
    first, second = torch.zeros(2, 8, dtype=torch.int32)
    _histogram[(5,)](x, first, 75, BLOCK=16, BINS=8)
    _count_each[(5,)](x, second, 75, BLOCK=16)
    want = torch.bincount(x, minlength=8)
    return torch.stack((first, second)), torch.stack((want, want))


@triton.jit
def _compact(x, out, used, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    keep = (value > 0).to(tl.int32)
    start = tl.atomic_add(used, tl.sum(keep, axis=0), sem="relaxed")
    tl.store(out + start + tl.cumsum(keep, axis=0) - 1, value, mask=keep > 0)


def places_taken_by_an_atomic():
    x, out = torch.randn(60), torch.zeros(60)
    _compact[(4,)](x, out, torch.zeros(1, dtype=torch.int32), 60, BLOCK=16)
    kept = x[x > 0]
    return out[: len(kept)].sort().values, kept.sort().values


@triton.jit
def _scan(x, out, sums, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    tl.store(out + at, value, mask=at < n)
    tl.store(
        sums + tl.program_id(0),
        tl.max(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, value, -1e30), axis=0),
    )


@triton.jit
def _carry(out, sums, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    at, place = program * BLOCK + tl.arange(0, BLOCK), tl.arange(0, PROGRAMS)
    before = tl.load(sums + place, mask=place < program, other=0.0)
    value = tl.load(out + at, mask=at < n) + tl.sum(before, axis=0)
    tl.store(out + at, value, mask=at < n)


def scan_in_two_launches():
    x = torch.rand(50)
    out, sums = torch.empty(50), torch.empty(4)
    _scan[(4,)](x, out, sums, 50, BLOCK=16)
    _carry[(4,)](out, sums, 50, BLOCK=16, PROGRAMS=4)
    return out, x.cumsum(0)


@triton.jit
def _smooth(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at - 1, mask=(at > 0) & (at < n), other=0.0)
    right = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(y + at, (left + right) / 2, mask=at < n)


def steps_between_two_buffers():
    x, y = torch.randn(40), torch.empty(40)
    want = x
    for _ in range(3):
        padded = torch.nn.functional.pad(want, (1, 1))
        want = (padded[:-2] + padded[2:]) / 2
        _smooth[(5,)](x, y, 40, BLOCK=8)
        x, y = y, x
    return x, want


@triton.jit
def _maximum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out, tl.max(tl.load(x + at, mask=at < n, other=-1), axis=0))


def maximum_by_atomics():
    x = torch.randint(0, 1000, (70,), dtype=torch.int32)
    out = torch.full((1,), -1, dtype=torch.int32)
    _maximum[(9,)](x, out, 70, BLOCK=8)
    return out, x.amax().view(1)


@triton.jit
def _combine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def _recurrence(a, b, out, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    place = row * BLOCK + at
    _, state = tl.associative_scan((tl.load(a + place), tl.load(b + place)), 0, _combine)
    tl.store(out + place, state)


def recurrence_by_associative_scan():
    a, b = torch.rand(2, 3, 16)
    out = torch.empty(3, 16)
    _recurrence[(3,)](a, b, out, BLOCK=16)
    want, state = [], torch.zeros(3)
    for step in range(16):
        state = a[:, step] * state + b[:, step]
        want.append(state)
    return out, torch.stack(want, 1)
