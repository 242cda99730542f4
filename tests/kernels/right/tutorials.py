"""What Triton's tutorials show beside the kernels of the other files, written anew."""

import torch
import triton
import triton.language as tl


@triton.jit
def _dropout(x, kept, out, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    keep = tl.load(kept + at, mask=inside)
    tl.store(out + at, tl.where(keep, value / (1 - p), 0.0), mask=inside)


def dropout_by_a_mask():
    x, kept, out = torch.randn(100), torch.rand(100) > 0.5, torch.empty(100)
    _dropout[(4,)](x, kept, out, 100, 0.5, BLOCK=32)
    return out, torch.where(kept, 2 * x, 0.0)


@triton.jit
def _place(tile, down, across, GROUP: tl.constexpr):
    """Return row and column of a tile; GROUP rows of tiles are gone through together."""
    group = tile // (GROUP * across)
    tall = min(down - group * GROUP, GROUP)
    inner = tile % (GROUP * across)
    return group * GROUP + inner % tall, inner // tall


@triton.jit
def _persistent(
    a, b, c, m, n, k, SIDE: tl.constexpr, DEEP: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    down, across = tl.cdiv(m, SIDE), tl.cdiv(n, SIDE)
    inner = tl.arange(0, DEEP)
    for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0), flatten=True):
        row_block, column_block = _place(tile, down, across, GROUP)
        row = row_block * SIDE + tl.arange(0, SIDE)
        column = column_block * SIDE + tl.arange(0, SIDE)
        near_row = tl.max_contiguous(tl.multiple_of(tl.where(row < m, row, 0), SIDE), SIDE)
        near_column = tl.where(column < n, column, 0)
        total = tl.zeros((SIDE, SIDE), tl.float32)
        for step in range(tl.cdiv(k, DEEP)):
            at = step * DEEP + inner
            left = tl.load(a + near_row[:, None] * k + at[None, :], at[None, :] < k, other=0.0)
            right = tl.load(b + at[:, None] * n + near_column[None, :], at[:, None] < k, other=0.0)
            total = tl.dot(left, right, total)
        kept = (row < m)[:, None] & (column < n)[None, :]
        tl.store(c + row[:, None] * n + column[None, :], total.to(tl.float16), mask=kept)


def persistent_matmul_with_pointers():
    a, b = torch.randn(70, 40).half(), torch.randn(40, 50).half()
    c = torch.empty(70, 50, dtype=torch.float16)
    _persistent[(6,)](a, b, c, 70, 50, 40, SIDE=16, DEEP=32, GROUP=2)
    return c.float(), (a.float() @ b.float()).half().float()


@triton.jit
def _persistent_halves(a, b, c, m, n, k, SIDE: tl.constexpr):
    """Tiles go out in two halves, as where the epilogue has less room than the product."""
    of_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [SIDE, SIDE])
    of_b = tl.make_tensor_descriptor(b, [n, k], [k, 1], [SIDE, SIDE])
    of_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [SIDE, SIDE // 2])
    down, across = tl.cdiv(m, SIDE), tl.cdiv(n, SIDE)
    for tile in tl.range(tl.program_id(0), down * across, tl.num_programs(0)):
        row_block, column_block = _place(tile, down, across, 2)
        row, column = row_block * SIDE, column_block * SIDE
        total = tl.zeros((SIDE, SIDE), tl.float32)
        for first in range(0, k, SIDE):
            right = of_b.load([column, first])
            total = tl.dot(of_a.load([row, first]), right.T, total)
        halves = tl.permute(tl.reshape(total, (SIDE, 2, SIDE // 2)), (0, 2, 1))
        near, far = tl.split(halves)
        of_c.store([row, column], near)
        of_c.store([row, column + SIDE // 2], far)


def persistent_matmul_stored_in_halves():
    a, b, c = torch.randn(36, 40), torch.randn(20, 40), torch.empty(36, 20)
    _persistent_halves[(4,)](a, b, c, 36, 20, 40, SIDE=16)
    return c, a @ b.T


@triton.jit
def _grouped(table, sizes, count, SIDE: tl.constexpr):
    """Products of different sizes in one launch; a descriptor is made for each of them."""
    tile, end = tl.program_id(0), 0
    for problem in range(count):
        m = tl.load(sizes + problem * 3)
        n = tl.load(sizes + problem * 3 + 1)
        k = tl.load(sizes + problem * 3 + 2)
        across = tl.cdiv(n, SIDE)
        start = end
        end += tl.cdiv(m, SIDE) * across
        if (tile >= start) & (tile < end):
            a = tl.load(table + problem * 3).to(tl.pointer_type(tl.float32))
            b = tl.load(table + problem * 3 + 1).to(tl.pointer_type(tl.float32))
            c = tl.load(table + problem * 3 + 2).to(tl.pointer_type(tl.float32))
            of_a = tl.make_tensor_descriptor(a, [m, k], [k, 1], [SIDE, SIDE])
            of_b = tl.make_tensor_descriptor(b, [n, k], [k, 1], [SIDE, SIDE])
            of_c = tl.make_tensor_descriptor(c, [m, n], [n, 1], [SIDE, SIDE])
            while (tile >= start) & (tile < end):
                row, column = (tile - start) // across * SIDE, (tile - start) % across * SIDE
                total = tl.zeros((SIDE, SIDE), tl.float32)
                for first in range(0, k, SIDE):
                    total += tl.dot(of_a.load([row, first]), of_b.load([column, first]).T)
                of_c.store([row, column], total)
                tile += tl.num_programs(0)


def grouped_gemm_with_descriptors():
    shapes = [(20, 20, 32), (40, 8, 16), (16, 16, 8)]
    given = [(torch.randn(m, k), torch.randn(n, k), torch.empty(m, n)) for m, n, k in shapes]
    table = torch.tensor([[x.data_ptr() for x in three] for three in given])
    _grouped[(3,)](table, torch.tensor(shapes, dtype=torch.int32), 3, SIDE=16)
    return torch.cat([c.flatten() for _, _, c in given]), torch.cat(
        [(a @ b.T).flatten() for a, b, _ in given]
    )


@triton.jit
def _fold(
    acc, total, top, query, of_k, of_v, row, start, low, high, factor,
    DIAGONAL: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    for first in tl.range(low, high, N):
        scores = tl.dot(query, of_k.load([start + first, 0]).T) * factor
        if DIAGONAL:
            column = first + tl.arange(0, N)
            scores = tl.where(row[:, None] >= column[None, :], scores, -1e6)
        new = tl.maximum(top, tl.max(scores, axis=1))
        weight = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        acc = tl.dot(weight, of_v.load([start + first, 0]), acc * shrink[:, None])
        total = total * shrink + tl.sum(weight, axis=1)
        top = new
    return acc, total, top


@triton.jit
def _attend(
    q, k, v, out, level, heads, length, factor, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    """Whole blocks of keys first, then the block on the diagonal, where scores are hidden."""
    rows = heads * length
    of_q = tl.make_tensor_descriptor(q, [rows, D], [D, 1], [M, D])
    of_k = tl.make_tensor_descriptor(k, [rows, D], [D, 1], [N, D])
    of_v = tl.make_tensor_descriptor(v, [rows, D], [D, 1], [N, D])
    of_out = tl.make_tensor_descriptor(out, [rows, D], [D, 1], [M, D])
    block, start = tl.program_id(0), tl.program_id(1) * length
    row = block * M + tl.arange(0, M)
    query = of_q.load([start + block * M, 0])
    acc = tl.zeros((M, D), tl.float32)
    total, top = tl.zeros((M,), tl.float32), tl.full((M,), -float("inf"), tl.float32)
    for stage in tl.static_range(2):
        low = block * M if stage else 0
        high = (block + stage) * M
        acc, total, top = _fold(
            acc, total, top, query, of_k, of_v, row, start, low, high, factor, stage == 1, N
        )
    tl.store(level + start + row, top + tl.log2(total))
    of_out.store([start + block * M, 0], acc / total[:, None])


def causal_attention_with_descriptors():
    q, k, v = torch.randn(3, 2, 48, 16)
    out, level = torch.empty(2, 48, 16), torch.empty(2, 48)
    _attend[(3, 2)](q, k, v, out, level, 2, 48, 0.25 * 1.4426950408889634, M=16, N=16, D=16)
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.25)
    return out, want
