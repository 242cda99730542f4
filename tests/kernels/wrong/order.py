"""Programs that never meet without an atomic, and whose result still depends on their order.

Nothing is to be found in one run: the mark says that the results of three orders differ.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _last(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out, tl.sum(tl.load(x + at), axis=0))


def last_program_wins_by_exchange():  # finds: order
    out = torch.zeros(1)
    _last[(5,)](torch.arange(40.0), out, BLOCK=8)
    return out


@triton.jit
def _running(x, mean, lock, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.sum(tl.load(x + at), axis=0) / BLOCK
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(mean, 0.9 * tl.load(mean) + 0.1 * here)
    tl.atomic_xchg(lock, 0)


def running_mean_under_a_lock():  # finds: order
    mean = torch.zeros(1)
    _running[(5,)](torch.arange(40.0), mean, torch.zeros(1, dtype=torch.int32), BLOCK=8)
    return mean


@triton.jit
def _compact(x, out, used, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    keep = (value > 0).to(tl.int32)
    start = tl.atomic_add(used, tl.sum(keep, axis=0))
    tl.store(out + start + tl.cumsum(keep, axis=0) - 1, value, mask=keep > 0)


def places_by_arrival_taken_for_sorted():  # finds: order
    out = torch.zeros(30)
    _compact[(4,)](torch.arange(30.0) - 9, out, torch.zeros(1, dtype=torch.int32), 30, BLOCK=8)
    return out


@triton.jit
def _bias_by_the_first(x, bias, begun, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if tl.atomic_add(begun, 1) == 0:
        value += tl.load(bias)
    tl.store(out + at, value)


def first_arrival_taken_for_the_first_block():  # finds: order
    out, begun = torch.empty(32), torch.zeros(1, dtype=torch.int32)
    _bias_by_the_first[(4,)](torch.zeros(32), torch.ones(1), begun, out, BLOCK=8)
    return out
