"""Gradients of attention: by blocks of queries and of keys apart, or of keys alone with atomics."""

import torch
import triton
import triton.language as tl

HEADS, QUERIES, KEYS, D = 4, 37, 45, 16
FACTOR = D**-0.5


@triton.jit
def _weights(q, k, lse, row, column, queries, keys, factor, CAUSAL: tl.constexpr):
    """Return the weights of a tile again, from the logarithms of their sums."""
    seen = (row[:, None] < queries) & (column[None, :] < keys)
    if CAUSAL:
        seen = seen & (column[None, :] <= row[:, None] + keys - queries)
    scores = tl.dot(q, tl.trans(k)) * factor
    return tl.where(seen, tl.exp(scores - lse[:, None]), 0.0)


@triton.jit
def _block(x, row, count, D: tl.constexpr):
    d = tl.arange(0, D)[None, :]
    return tl.load(x + row[:, None] * D + d, mask=row[:, None] < count, other=0.0)


@triton.jit
def _levels(o, do, delta, queries, M: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    start = tl.program_id(1) * queries
    level = tl.sum(
        _block(o + start * D, row, queries, D) * _block(do + start * D, row, queries, D), 1
    )
    tl.store(delta + start + row, level, mask=row < queries)


@triton.jit
def _dq(
    q, k, v, do, lse, delta, dq, queries, keys, factor,
    CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    row = tl.program_id(0) * M + tl.arange(0, M)
    query = _block(q + head * queries * D, row, queries, D)
    up = _block(do + head * queries * D, row, queries, D)
    size = tl.load(lse + head * queries + row, mask=row < queries, other=0.0)
    level = tl.load(delta + head * queries + row, mask=row < queries, other=0.0)
    acc = tl.zeros((M, D), tl.float32)
    end = min(keys, (tl.program_id(0) + 1) * M + keys - queries) if CAUSAL else keys
    for first in range(0, end, N):
        column = first + tl.arange(0, N)
        key = _block(k + head // 2 * keys * D, column, keys, D)
        value = _block(v + head // 2 * keys * D, column, keys, D)
        p = _weights(query, key, size, row, column, queries, keys, factor, CAUSAL)
        ds = p * (tl.dot(up, tl.trans(value)) - level[:, None])
        acc += tl.dot(ds, key) * factor
    place = dq + (head * queries + row[:, None]) * D + tl.arange(0, D)[None, :]
    tl.store(place, acc, mask=row[:, None] < queries)


@triton.jit
def _dk_dv(
    q, k, v, do, lse, delta, dk, dv, dq, queries, keys, factor,
    CAUSAL: tl.constexpr, ADDS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """One block of keys of a pair of heads; with ADDS its share of dq goes there by atomics."""
    pair = tl.program_id(1)
    column, d = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)[None, :]
    key = _block(k + pair * keys * D, column, keys, D)
    value = _block(v + pair * keys * D, column, keys, D)
    dk_acc, dv_acc = tl.zeros((N, D), tl.float32), tl.zeros((N, D), tl.float32)
    for head in range(2 * pair, 2 * pair + 2):
        for first in range(0, queries, M):
            row = first + tl.arange(0, M)
            query = _block(q + head * queries * D, row, queries, D)
            up = _block(do + head * queries * D, row, queries, D)
            size = tl.load(lse + head * queries + row, mask=row < queries, other=0.0)
            level = tl.load(delta + head * queries + row, mask=row < queries, other=0.0)
            p = _weights(query, key, size, row, column, queries, keys, factor, CAUSAL)
            dv_acc += tl.dot(tl.trans(p), up)
            ds = p * (tl.dot(up, tl.trans(value)) - level[:, None]) * factor
            dk_acc += tl.dot(tl.trans(ds), query)
            if ADDS:
                place = dq + (head * queries + row[:, None]) * D + d
                tl.atomic_add(place, tl.dot(ds, key), mask=row[:, None] < queries, sem="relaxed")
    place = (pair * keys + column[:, None]) * D + d
    tl.store(dk + place, dk_acc, mask=column[:, None] < keys)
    tl.store(dv + place, dv_acc, mask=column[:, None] < keys)


def _gradients(causal, adds):
    q, do = torch.randn(HEADS, QUERIES, D), torch.randn(HEADS, QUERIES, D)
    k, v = torch.randn(HEADS // 2, KEYS, D), torch.randn(HEADS // 2, KEYS, D)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    scores = q @ k.repeat_interleave(2, 0).mT * FACTOR
    if causal:
        hidden = torch.ones(QUERIES, KEYS, dtype=torch.bool).triu(KEYS - QUERIES + 1)
        scores = scores.masked_fill(hidden, -torch.inf)
    o = scores.softmax(-1) @ v.repeat_interleave(2, 0)
    want = torch.autograd.grad(o, leaves, do)
    q, k, v, o, lse = (x.detach() for x in (q, k, v, o, scores.logsumexp(-1)))

    delta, dk, dv = torch.empty(HEADS, QUERIES), torch.empty_like(k), torch.empty_like(v)
    dq = torch.zeros_like(q) if adds else torch.empty_like(q)
    sizes = {"M": 16, "N": 16, "D": D}
    _levels[(3, HEADS)](o, do, delta, QUERIES, M=16, D=D)
    given, numbers = (q, k, v, do, lse, delta), (QUERIES, KEYS, FACTOR)
    _dk_dv[(3, HEADS // 2)](*given, dk, dv, dq, *numbers, CAUSAL=causal, ADDS=adds, **sizes)
    if not adds:
        _dq[(3, HEADS)](*given, dq, *numbers, CAUSAL=causal, **sizes)
    return (dq, dk, dv), want


def gradients_of_attention():
    return _gradients(causal=False, adds=False)


def gradients_of_causal_attention():
    return _gradients(causal=True, adds=False)


def gradients_of_queries_by_atomics():
    return _gradients(causal=True, adds=True)
