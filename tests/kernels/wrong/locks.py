"""Locks, counters and flags that order nothing, or stop everything."""

import torch
import triton
import triton.language as tl


@triton.jit
def _early(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value += tl.load(out + at)  # finds: read-write
    tl.atomic_xchg(lock, 0)
    tl.store(out + at, value)  # finds: write-write


def released_before_the_store():
    _early[(4,)](torch.ones(4, 8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _late(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + at) + tl.load(out + at)  # finds: read-write
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + at, value)
    tl.atomic_xchg(lock, 0)


def taken_after_the_load():
    _late[(4,)](torch.ones(4, 8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _kept(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:  # finds: waits
        pass
    tl.store(out + at, tl.load(out + at) + tl.load(x + at))


def never_released():
    _kept[(3,)](torch.ones(8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _relaxed(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(out + at) + tl.load(x + at)  # finds: read-write
    tl.store(out + at, value)  # finds: write-write
    tl.atomic_xchg(lock, 0, sem="relaxed")


def released_by_a_relaxed_exchange():
    _relaxed[(3,)](torch.ones(8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _taken(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1, sem="relaxed") == 1:
        pass
    value = tl.load(out + at) + tl.load(x + at)  # finds: read-write
    tl.store(out + at, value)  # finds: write-write
    tl.atomic_xchg(lock, 0, sem="release")


def taken_by_a_relaxed_exchange():
    _taken[(3,)](torch.ones(8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _groups(x, out, locks, BLOCK: tl.constexpr):
    at, program = tl.arange(0, BLOCK), tl.program_id(0)
    lock = locks + program % 4
    place = out + program % 2 * BLOCK + at
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(place) + tl.load(x + at)  # finds: read-write
    tl.store(place, value)  # finds: write-write
    tl.atomic_xchg(lock, 0)


def lock_of_another_group():
    _groups[(8,)](torch.ones(8), torch.zeros(2, 8), torch.zeros(4, dtype=torch.int32), BLOCK=8)


@triton.jit
def _stored(x, out, lock, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:  # finds: read-write
        pass
    value = tl.load(out + at) + tl.load(x + at)  # finds: read-write
    tl.store(out + at, value)  # finds: write-write
    tl.store(lock, 0)


def released_by_a_plain_store():
    _stored[(3,)](torch.ones(8), torch.zeros(8), torch.zeros(1, dtype=torch.int32), BLOCK=8)


@triton.jit
def _last(x, partial, done, out, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    arrived = tl.atomic_add(done, 1)
    tl.store(partial + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), axis=0))
    if arrived == PROGRAMS - 1:
        part = tl.load(partial + tl.arange(0, PROGRAMS))  # finds: read-write
        tl.store(out, tl.sum(part, axis=0))


def counted_before_the_store():
    done = torch.zeros(1, dtype=torch.int32)
    _last[(4,)](torch.ones(32), torch.empty(4), done, torch.empty(1), BLOCK=8, PROGRAMS=4)


@triton.jit
def _loose(x, partial, done, out, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partial + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), axis=0))
    if tl.atomic_add(done, 1, sem="relaxed") == PROGRAMS - 1:
        part = tl.load(partial + tl.arange(0, PROGRAMS))  # finds: read-write
        tl.store(out, tl.sum(part, axis=0))


def counted_in_no_order():
    done = torch.zeros(1, dtype=torch.int32)
    _loose[(4,)](torch.ones(32), torch.empty(4), done, torch.empty(1), BLOCK=8, PROGRAMS=4)


@triton.jit
def _narrow(x, partial, done, out, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partial + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), axis=0))
    if tl.atomic_add(done, 1, scope="cta") == PROGRAMS - 1:  # finds: write-write
        part = tl.load(partial + tl.arange(0, PROGRAMS))  # finds: read-write
        tl.store(out, tl.sum(part, axis=0))


def counted_in_the_scope_of_one_program():
    done = torch.zeros(1, dtype=torch.int32)
    _narrow[(4,)](torch.ones(32), torch.empty(4), done, torch.empty(1), BLOCK=8, PROGRAMS=4)


@triton.jit
def _publish(x, data, ready, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data + at, tl.load(x + at) * 2)
        tl.store(ready, 1)
    elif tl.load(ready) == 1:  # finds: read-write
        tl.store(out + tl.program_id(0) * BLOCK + at, tl.load(data + at))  # finds: read-write


def flag_without_atomics():
    ready = torch.zeros(1, dtype=torch.int32)
    _publish[(3,)](torch.ones(8), torch.empty(8), ready, torch.empty(3, 8), BLOCK=8)


@triton.jit
def _await(done, out, PROGRAMS: tl.constexpr):
    tl.atomic_add(done, 1)
    while tl.atomic_add(done, 0) < PROGRAMS:  # finds: waits
        pass
    tl.store(out + tl.program_id(0), 1.0)


def barrier_of_the_whole_grid():
    _await[(4,)](torch.zeros(1, dtype=torch.int32), torch.empty(4), PROGRAMS=4)


@triton.jit
def _backwards(x, total, turn, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    program = tl.program_id(0)
    value = tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), axis=0)
    while tl.atomic_add(turn, 0, sem="acquire") != PROGRAMS - 1 - program:  # finds: waits
        pass
    tl.store(total, tl.load(total) + value)
    tl.atomic_add(turn, 1, sem="release")


def turn_that_the_last_program_takes_first():
    turn = torch.zeros(1, dtype=torch.int32)
    _backwards[(4,)](torch.ones(32), torch.zeros(1), turn, BLOCK=8, PROGRAMS=4)
