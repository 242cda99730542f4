"""Products of matrices, attention among them."""

import torch
import triton
import triton.language as tl


@triton.jit
def _matmul(
    a, b, c, m, n, k, a_r, a_c, b_r, b_c,
    SIDE: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    down, across = tl.cdiv(m, SIDE), tl.cdiv(n, SIDE)
    program = tl.program_id(0)
    group = program // (GROUP * across)
    tall = min(down - group * GROUP, GROUP)
    row_block = group * GROUP + program % (GROUP * across) % tall
    column_block = program % (GROUP * across) // tall
    row = (row_block * SIDE + tl.arange(0, SIDE)) % m
    column = (column_block * SIDE + tl.arange(0, SIDE)) % n
    inner = tl.arange(0, SIDE)
    left = a + row[:, None] * a_r + inner[None, :] * a_c
    right = b + inner[:, None] * b_r + column[None, :] * b_c
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for step in range(0, tl.cdiv(k, SIDE)):
        rest = k - step * SIDE
        here = tl.load(left, mask=inner[None, :] < rest, other=0.0)
        total = tl.dot(here, tl.load(right, mask=inner[:, None] < rest, other=0.0), total)
        left += SIDE * a_c
        right += SIDE * b_r
    row = row_block * SIDE + tl.arange(0, SIDE)[:, None]
    column = column_block * SIDE + tl.arange(0, SIDE)[None, :]
    total = tl.where(total >= 0, total, 0.01 * total)
    tl.store(c + row * n + column, total, mask=(row < m) & (column < n))


def grouped_matmul_with_leaky_relu():
    a, b = torch.randn(70, 40), torch.randn(50, 40).T
    c = torch.empty(70, 50)
    _matmul[(5 * 4,)](a, b, c, 70, 50, 40, *a.stride(), *b.stride(), SIDE=16, GROUP=2)
    return c, torch.nn.functional.leaky_relu(a @ b)


@triton.jit
def _many(table, sizes, count, SIDE: tl.constexpr):
    tile = tl.program_id(0)
    first = 0
    for problem in range(count):
        m, n, k = (tl.load(sizes + problem * 3 + i) for i in range(3))
        tiles = tl.cdiv(m, SIDE) * tl.cdiv(n, SIDE)
        while tile >= first and tile < first + tiles:
            a = tl.load(table + problem * 3).to(tl.pointer_type(tl.float32))
            b = tl.load(table + problem * 3 + 1).to(tl.pointer_type(tl.float32))
            c = tl.load(table + problem * 3 + 2).to(tl.pointer_type(tl.float32))
            row = (tile - first) // tl.cdiv(n, SIDE) * SIDE + tl.arange(0, SIDE)[:, None]
            column = (tile - first) % tl.cdiv(n, SIDE) * SIDE + tl.arange(0, SIDE)[None, :]
            total = tl.zeros((SIDE, SIDE), tl.float32)
            for start in range(0, k, SIDE):
                across = start + tl.arange(0, SIDE)
                inside = (row < m) & (across[None, :] < k)
                left = tl.load(a + row * k + across[None, :], mask=inside, other=0.0)
                inside = (across[:, None] < k) & (column < n)
                right = tl.load(b + across[:, None] * n + column, mask=inside, other=0.0)
                total = tl.dot(left, right, total)
            tl.store(c + row * n + column, total, mask=(row < m) & (column < n))
            tile += tl.num_programs(0)
        first += tiles


def grouped_gemm_by_addresses():
    shapes = [(20, 18, 30), (40, 5, 16), (16, 16, 7)]
    given = [(torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)) for m, n, k in shapes]
    table = torch.tensor([[x.data_ptr() for x in three] for three in given])
    _many[(3,)](table, torch.tensor(shapes, dtype=torch.int32), 3, SIDE=16)
    return torch.cat([c.flatten() for _, _, c in given]), torch.cat(
        [(a @ b).flatten() for a, b, _ in given]
    )


@triton.jit
def _persistent(a, b, c, m, n, k, SIDE: tl.constexpr):
    of_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [SIDE, SIDE])
    of_b = tl.make_tensor_descriptor(b, [k, n], [n, 1], [SIDE, SIDE])
    of_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [SIDE, SIDE])
    across = tl.cdiv(n, SIDE)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, SIDE) * across, tl.num_programs(0)):
        row, column = tile // across * SIDE, tile % across * SIDE
        total = tl.zeros((SIDE, SIDE), tl.float32)
        for first in range(0, k, SIDE):
            total = tl.dot(of_a.load([row, first]), of_b.load([first, column]), total)
        of_c.store([row, column], total)


def persistent_matmul_with_descriptors():
    a, b = torch.randn(36, 40), torch.randn(40, 20)
    c = torch.empty(36, 20)
    _persistent[(4,)](a, b, c, 36, 20, 40, SIDE=16)
    return c, a @ b


@triton.jit
def _split_k(a, b, c, k, SIDE: tl.constexpr):
    down, across = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    first = tl.program_id(0) * SIDE
    left = tl.load(a + down * k + first + across, mask=first + across < k, other=0.0)
    right = tl.load(b + (first + down) * SIDE + across, mask=first + down < k, other=0.0)
    tl.atomic_add(c + down * SIDE + across, tl.dot(left, right), sem="relaxed")


def split_k_by_atomics():
    a, b = torch.randn(16, 50), torch.randn(50, 16)
    c = torch.zeros(16, 16)
    _split_k[(4,)](a, b, c, 50, SIDE=16)
    return c, a @ b


@triton.jit
def _split_k_last(a, b, parts, done, c, k, SIDE: tl.constexpr, SPLITS: tl.constexpr):
    down, across = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    program = tl.program_id(0)
    first = program * SIDE
    left = tl.load(a + down * k + first + across, mask=first + across < k, other=0.0)
    right = tl.load(b + (first + down) * SIDE + across, mask=first + down < k, other=0.0)
    place = down * SIDE + across
    tl.store(parts + program * SIDE * SIDE + place, tl.dot(left, right))
    tl.debug_barrier()
    if tl.atomic_add(done, 1, sem="acq_rel") == SPLITS - 1:
        total = tl.zeros((SIDE, SIDE), tl.float32)
        for part in range(SPLITS):
            total += tl.load(parts + part * SIDE * SIDE + place)
        tl.store(c + place, total)
        tl.store(done, 0)


def split_k_folded_by_the_last():
    a, b = torch.randn(16, 50), torch.randn(50, 16)
    parts, done, c = torch.empty(4, 16, 16), torch.zeros(1, dtype=torch.int32), torch.empty(16, 16)
    for _ in range(2):
        _split_k_last[(4,)](a, b, parts, done, c, 50, SIDE=16, SPLITS=4)
    return c, a @ b


@triton.jit
def _attend(
    q, k, v, out, lse, queries, keys, factor,
    CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    row, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q += head * queries * D
    k += head // 2 * keys * D
    v += head // 2 * keys * D
    query = tl.load(q + row[:, None] * D + d[None, :], mask=row[:, None] < queries, other=0.0)
    top = tl.full((M,), -float("inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    end = min(keys, (tl.program_id(0) + 1) * M + keys - queries) if CAUSAL else keys
    for first in range(0, end, N):
        column = first + tl.arange(0, N)
        key = tl.load(k + column[:, None] * D + d[None, :], mask=column[:, None] < keys, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * factor
        seen = column[None, :] < keys
        if CAUSAL:
            seen = seen & (column[None, :] <= row[:, None] + keys - queries)
        scores = tl.where(seen, scores, -1e30)
        new = tl.maximum(top, tl.max(scores, axis=1))
        weight = tl.exp(scores - new[:, None])
        total = total * tl.exp(top - new) + tl.sum(weight, axis=1)
        value = tl.load(
            v + column[:, None] * D + d[None, :], mask=column[:, None] < keys, other=0.0
        )
        acc = acc * tl.exp(top - new)[:, None] + tl.dot(weight.to(value.dtype), value)
        top = new
    place = out + head * queries * D + row[:, None] * D + d[None, :]
    tl.store(place, acc / total[:, None], mask=row[:, None] < queries)
    tl.store(lse + head * queries + row, top + tl.log(total), mask=row < queries)


def _attention(causal):
    q, k, v = torch.randn(4, 37, 16), torch.randn(2, 45, 16), torch.randn(2, 45, 16)
    out, lse = torch.empty(4, 37, 16), torch.empty(4, 37)
    _attend[(3, 4)](q, k, v, out, lse, 37, 45, 0.25, CAUSAL=causal, M=16, N=16, D=16)
    scores = q @ k.repeat_interleave(2, 0).mT * 0.25
    if causal:
        scores = scores.masked_fill(torch.ones(37, 45, dtype=torch.bool).triu(9), -1e30)
    return out, scores.softmax(-1) @ v.repeat_interleave(2, 0)


def attention_of_all_keys():
    _attend  # noqa: B018
    return _attention(causal=False)


def causal_attention():
    return _attention(causal=True)


@triton.jit
def _dequantized(
    x, codes, scale, out, width, GROUP: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr
):
    row, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, WIDE)[None, :]
    byte = tl.load(codes + row * (width // 2) + at // 2, mask=at < width, other=0)
    code = ((byte >> (at % 2 * 4)) & 15).to(tl.float32) - 8
    factor = tl.load(scale + row * (width // GROUP) + at // GROUP, mask=at < width, other=0.0)
    value = tl.load(x + at, mask=at < width, other=0.0)
    tl.store(out + row, tl.sum(code * factor * value, axis=1, keep_dims=True))


def int4_product_by_groups():
    x, codes, scale = (
        torch.randn(48),
        torch.randint(0, 256, (8, 24), dtype=torch.uint8),
        torch.rand(8, 3),
    )
    out = torch.empty(8)
    _dequantized[(2,)](x, codes, scale, out, 48, GROUP=16, ROWS=4, WIDE=64)
    wide = torch.stack((codes & 15, codes >> 4), 2).flatten(1).float() - 8
    return out, (wide * scale.repeat_interleave(16, 1)) @ x
