"""Flash attention: the T x S matrix of scores exists one tile at a time.

Two kernels. ``_attend`` is plain Triton: any device, type, stride and width; variants/simple.py
is its twin. ``_attend_hopper`` does the same arithmetic for long 16-bit inputs on a Hopper GPU,
written in Gluon, the layer of Triton in which a kernel places its own copies, barriers and warps:
one warp fetches tiles, groups of four multiply and exponentiate. NOTES.md says what a trick is
worth.

A packed batch is a dense batch of one whose sequences begin at given rows: one code for both.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LOG2_E = math.log2(math.e)
# Renamed in the Triton after 3.6.
async_load = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
LONG = 512 * 512  # queries x keys from which the Hopper kernel repays its longer compilation


def merge(
    o1: Tensor,  # [..., T, D]
    lse1: Tensor,  # [..., T]
    o2: Tensor,  # [..., T, D]
    lse2: Tensor,  # [..., T]
) -> tuple[Tensor, Tensor]:
    """Join two partial results over disjoint keys into the result over all of them.

    A side with lse -inf saw no key and weighs nothing, whatever its o holds; two such sides give 0.
    """
    top = torch.maximum(lse1, lse2)
    top = torch.where(top == -math.inf, 0.0, top)  # -inf minus -inf would be NaN
    w1, w2 = torch.exp(lse1 - top), torch.exp(lse2 - top)
    total = w1 + w2
    share = torch.where(total > 0, total, 1.0)
    o = _weighed(o1, w1 / share) + _weighed(o2, w2 / share)
    return o.to(o1.dtype), top + torch.log(total)


def _weighed(o: Tensor, weight: Tensor) -> Tensor:
    weight = weight.unsqueeze(-1)
    return torch.where(weight > 0, o.float() * weight, 0.0)


def flash_attention_torch(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    block: int = 64,
) -> tuple[Tensor, Tensor]:  # [B, H, T, D], [B, H, T] float32
    """Attend in tiles of ``block`` queries by ``block`` keys, with running maximum, sum and output.

    Rows that see no key give 0 and lse -inf. Source: Dao et al. 2022, algorithm 1.
    """
    batch, heads, queries, width = q.shape
    groups, keys = k.shape[1:3]
    rows = q.reshape(batch, groups, heads // groups, queries, width)  # group heads by their keys
    o = torch.empty(rows.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(rows.shape[:-1], dtype=torch.float32, device=q.device)
    for start in range(0, queries, block):
        tile = slice(start, min(start + block, queries))
        seen = min(keys, tile.stop + keys - queries) if causal else keys
        o[..., tile, :], lse[..., tile] = _attend_tile(
            rows[..., tile, :].float() * width**-0.5,
            k.unsqueeze(2)[..., : max(seen, 0), :],
            v.unsqueeze(2)[..., : max(seen, 0), :],
            start + keys - queries if causal else keys,
            block,
        )
    return o.reshape(q.shape), lse.reshape(q.shape[:-1])


def _attend_tile(q: Tensor, k: Tensor, v: Tensor, last: int, block: int) -> tuple[Tensor, Tensor]:
    """Attend one tile of queries, row i of which sees the keys up to ``last`` + i."""
    acc = torch.zeros_like(q)
    total = q.new_zeros(q.shape[:-1])
    top = q.new_full(q.shape[:-1], -math.inf)
    visible = last + torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    for start in range(0, k.shape[-2], block):
        tile = slice(start, start + block)
        scores = q @ k[..., tile, :].float().transpose(-1, -2)
        columns = start + torch.arange(scores.shape[-1], device=q.device)
        scores = scores.masked_fill(columns > visible, -math.inf)
        new_top = torch.maximum(top, scores.amax(-1))
        safe = torch.where(new_top == -math.inf, 0.0, new_top)
        p = torch.exp(scores - safe.unsqueeze(-1))
        rescale = torch.exp(top - safe)
        total = total * rescale + p.sum(-1)
        acc = acc * rescale.unsqueeze(-1) + p @ v[..., tile, :].float()
        top = new_top
    o = acc / torch.where(total > 0, total, 1.0).unsqueeze(-1)
    return o, top + torch.log(total)


def flash_attention(
    q: Tensor,  # [B, H, T, D], any strides
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,  # default D**-0.5
) -> tuple[Tensor, Tensor]:  # [B, H, T, D], [B, H, T] float32
    """Attend in one Triton kernel; rows that see no key give 0 and lse -inf."""
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
    _launch(q, k, v, o, lse, causal, q.shape[-1] ** -0.5 if scale is None else scale)
    return o, lse


def flash_attention_varlen(
    q: Tensor,  # [total queries, H, D]
    k: Tensor,  # [total keys, G, D]
    v: Tensor,  # [total keys, G, D]
    cu_seqlens_q: Tensor,  # [B + 1] int32, sequence b is rows cu[b] to cu[b + 1]
    cu_seqlens_k: Tensor,  # [B + 1] int32
    causal: bool = False,
) -> Tensor:  # [total queries, H, D]
    """Attend each packed sequence to its own keys; sequences of no queries or no keys are legal."""
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(1, q.shape[1], q.shape[0], dtype=torch.float32, device=q.device)
    q4, k4, v4, o4 = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v, o))
    _launch(q4, k4, v4, o4, lse, causal, q.shape[-1] ** -0.5, (cu_seqlens_q, cu_seqlens_k))
    return o


def _launch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    causal: bool,
    scale: float,
    starts: tuple[Tensor, Tensor] | None = None,  # first rows of packed queries and keys
) -> None:
    """Fill o and lse by the kernel that fits; the grid has a program for each tile of queries."""
    if o.numel() == 0 or (starts is not None and len(starts[0]) == 1):
        return
    if scale <= 0:  # the kernels take the maximum before they scale: that needs a positive factor
        q, scale = (-q, -scale) if scale < 0 else (torch.zeros_like(q), 1.0)
    launch = _launch_hopper if _suits_hopper(q, k, v) else _launch_plain
    launch(q, k, v, o, lse, causal, scale * LOG2_E, starts)


def _plan(queries: int, block: int, starts: Tensor | None) -> tuple[int, int, Tensor | None]:
    """Return the number of tiles, of packed sequences, and where each sequence's tiles end.

    The lengths stay on the device, so a packed batch gets as many tiles as it can need at most.
    """
    if starts is None:
        return triton.cdiv(queries, block), 0, None
    ends = ((starts.diff() + (block - 1)) // block).cumsum(0, dtype=torch.int32)
    return triton.cdiv(queries, block) + len(ends), len(ends), ends


def _launch_plain(q, k, v, o, lse, causal: bool, factor: float, starts) -> None:
    _, heads, queries, width = q.shape
    block_d = max(16, triton.next_power_of_2(width))
    if q.element_size() > 2:
        block_m, block_n, warps, stages = (64, 32, 4, 2) if block_d <= 64 else (32, 32, 4, 1)
    else:
        block_m, block_n, warps, stages = (128, 64, 8, 3) if block_d <= 128 else (64, 32, 4, 2)
    starts_q, starts_k = starts or (None, None)
    tiles, sequences, ends = _plan(queries, block_m, starts_q)
    _attend[(tiles * heads * len(q),)](
        q, k, v, o, lse, starts_q, starts_k, ends,
        q.stride(), k.stride(), v.stride(), o.stride(), lse.stride(),
        queries, k.shape[2], heads, heads // k.shape[1], tiles, sequences, factor,
        WIDTH=width, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_D=block_d, CAUSAL=causal,
        BLOCK_B=triton.next_power_of_2(max(sequences, 1)), num_warps=warps, num_stages=stages,
    )  # fmt: skip


@triton.jit(do_not_specialize=["queries", "keys", "heads", "share", "tiles", "sequences"])
def _attend(
    q, k, v, o, lse, starts_q, starts_k, ends,
    q_strides, k_strides, v_strides, o_strides, lse_strides,
    queries, keys, heads, share, tiles, sequences, factor,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr, BLOCK_B: tl.constexpr,
):  # fmt: skip
    """Attend one tile of BLOCK_M queries of one head; ``factor`` is scale times log2(e)."""
    program = tl.program_id(0)
    tile = tiles - 1 - program % tiles  # the last tile of a causal sequence is the longest: first
    head = program // tiles % heads
    batch = (program // tiles // heads).to(tl.int64)
    q += batch * q_strides[0] + head.to(tl.int64) * q_strides[1]
    k += batch * k_strides[0] + (head // share).to(tl.int64) * k_strides[1]
    v += batch * v_strides[0] + (head // share).to(tl.int64) * v_strides[1]
    o += batch * o_strides[0] + head.to(tl.int64) * o_strides[1]
    lse += batch * lse_strides[0] + head.to(tl.int64) * lse_strides[1]
    if starts_q is not None:  # find the sequence of the tile, move everything to its first row
        index = tl.arange(0, BLOCK_B)
        last_tile = tl.load(ends + index, mask=index < sequences, other=2147483647)
        sequence = tl.sum((last_tile <= tile).to(tl.int32), 0)
        if sequence >= sequences:
            return
        tile -= tl.max(tl.where(last_tile <= tile, last_tile, 0), 0)
        first_q = tl.load(starts_q + sequence).to(tl.int64)
        first_k = tl.load(starts_k + sequence).to(tl.int64)
        queries = (tl.load(starts_q + sequence + 1) - first_q).to(tl.int32)
        keys = (tl.load(starts_k + sequence + 1) - first_k).to(tl.int32)
        q += first_q * q_strides[2]
        k += first_k * k_strides[2]
        v += first_k * v_strides[2]
        o += first_q * o_strides[2]
        lse += first_q

    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    last = tl.zeros_like(rows) + keys - 1  # the last key that each row sees
    whole, stop = (
        keys,
        keys,
    )  # every row sees the keys before ``whole``, none those from ``stop`` on
    if CAUSAL:
        last = tl.minimum(last, rows + keys - queries)
        whole = tl.maximum(tl.minimum(keys, tile * BLOCK_M + 1 + keys - queries), 0)
        stop = tl.minimum(keys, tile * BLOCK_M + BLOCK_M + keys - queries)
    whole = whole // BLOCK_N * BLOCK_N
    q_tile = _load(q, q_strides, tile * BLOCK_M, queries, BLOCK_M, BLOCK_D, WIDTH)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    # Two loops: most blocks need no mask, and a mask costs as much as the exponential.
    for column in range(0, whole, BLOCK_N):
        k_tile = _load(k, k_strides, column, keys, BLOCK_N, BLOCK_D, WIDTH)
        v_tile = _load(v, v_strides, column, keys, BLOCK_N, BLOCK_D, WIDTH)
        acc, total, top = _fold(
            acc, total, top, q_tile, k_tile, v_tile, column, last, factor, False
        )
    for column in range(whole, stop, BLOCK_N):
        k_tile = _load(k, k_strides, column, keys, BLOCK_N, BLOCK_D, WIDTH)
        v_tile = _load(v, v_strides, column, keys, BLOCK_N, BLOCK_D, WIDTH)
        acc, total, top = _fold(acc, total, top, q_tile, k_tile, v_tile, column, last, factor, True)

    inside, d = rows < queries, tl.arange(0, BLOCK_D)
    divisor = tl.where(total > 0, total, 1.0)
    natural = (top * factor + tl.log2(divisor)) * 0.6931471805599453
    tl.store(lse + rows, tl.where(total > 0, natural, float("-inf")), mask=inside)
    o += rows.to(tl.int64)[:, None] * o_strides[2] + d[None, :]
    acc = (acc / divisor[:, None]).to(o.dtype.element_ty)
    tl.store(o, acc, mask=inside[:, None] & (d < WIDTH)[None, :])


@triton.jit
def _load(
    source, strides, row, count, ROWS: tl.constexpr, BLOCK_D: tl.constexpr, WIDTH: tl.constexpr
):
    """Load ROWS rows from ``row`` on; zeros stand for rows from ``count`` on."""
    rows, d = row + tl.arange(0, ROWS), tl.arange(0, BLOCK_D)
    offsets = rows.to(tl.int64)[:, None] * strides[2] + d[None, :] * strides[3]
    return tl.load(source + offsets, mask=(rows < count)[:, None] & (d < WIDTH)[None, :], other=0.0)


@triton.jit
def _fold(acc, total, top, q, k, v, column, last, factor, MASKED: tl.constexpr):
    """Take one block of keys into the running output, sum and maximum."""
    scores = tl.dot(q, k.T, input_precision="ieee")
    if MASKED:
        columns = column + tl.arange(0, k.shape[0])
        scores = tl.where(columns[None, :] <= last[:, None], scores, float("-inf"))
    new_top = tl.maximum(top, tl.max(scores, 1))
    shift = new_top * factor
    if MASKED:  # a row that saw no key yet: its weights are exp2(-inf) = 0, not exp2(-inf + inf)
        shift = tl.where(new_top == float("-inf"), 0.0, shift)
    p = tl.exp2(scores * factor - shift[:, None])  # a fused multiply-add and one instruction
    rescale = tl.exp2(top * factor - shift)
    total = total * rescale + tl.sum(p, 1)
    acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
    return acc, total, new_top


def _suits_hopper(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Tell whether the copy engine can read the inputs, and whether they are long enough."""
    if not q.is_cuda or q.element_size() != 2 or q.shape[-1] > 128:
        return False
    if torch.cuda.get_device_capability(q.device)[0] != 9 or q.shape[2] * k.shape[2] < LONG:
        return False
    return all(
        x.stride(-1) == 1
        and x.data_ptr() % 16 == 0
        and all(stride > 0 and stride % 8 == 0 for stride in x.stride()[:-1])  # 16 bytes
        for x in (q, k, v)
    )


def _launch_hopper(q, k, v, o, lse, causal: bool, factor: float, starts) -> None:
    _, heads, queries, width = q.shape
    block_d = max(16, triton.next_power_of_2(width))
    # Three groups of 64 rows fit the registers if D is small, and three blocks of keys the memory.
    groups, stages = (3, 3) if block_d <= 64 else (2, 2)
    block_m, block_n = 64 * groups, 128
    sequences = len(starts[0]) - 1 if starts else 0
    tiles = triton.cdiv(queries, block_m) + sequences  # as many as a packed batch can need
    # Under a causal mask, ``section`` heads run side by side, longest tiles first: enough to keep
    # all processors busy to the end, few enough that their keys stay in the L2 cache.
    most = 8 if causal else 1
    section = max(n for n in range(1, most + 1) if heads * len(q) % n == 0)
    dtype = gl.float16 if q.dtype == torch.float16 else gl.bfloat16
    shapes = [1, 1, 64, block_d], [1, 1, block_n, block_d], [1, 1, block_n, block_d]
    descriptors = [
        TensorDescriptor.from_tensor(x, s, gl.NVMMASharedLayout.get_default_for(s, dtype))
        for x, s in zip((q, k, v), shapes, strict=True)
    ]
    starts_q, starts_k = starts or (lse, lse)  # placeholders: not read unless packed
    _attend_hopper[(tiles * heads * len(q),)](
        *descriptors, o, lse, starts_q, starts_k,
        o.stride(0), o.stride(1), o.stride(2), lse.stride(0), lse.stride(1),
        queries, k.shape[2], heads, heads // k.shape[1], tiles, sequences, section, factor,
        WIDTH=width, BLOCK_N=block_n, BLOCK_D=block_d, CAUSAL=causal, PACKED=starts is not None,
        BLOCK_B=triton.next_power_of_2(max(sequences, 32)), STAGES=stages, GROUPS=groups,
        num_warps=4, maxnreg=168 if groups == 2 else 128,
    )  # fmt: skip


UNSPECIALIZED = ["queries", "keys", "heads", "share", "tiles", "sequences", "section"]


@gluon.jit(do_not_specialize=[*UNSPECIALIZED, "lse_batch", "lse_head"])
def _attend_hopper(
    q, k, v, o, lse, starts_q, starts_k,
    o_batch, o_head, o_row, lse_batch, lse_head,
    queries, keys, heads, share, tiles, sequences, section, factor,
    WIDTH: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_D: gl.constexpr, CAUSAL: gl.constexpr,
    PACKED: gl.constexpr, BLOCK_B: gl.constexpr, STAGES: gl.constexpr, GROUPS: gl.constexpr,
):  # fmt: skip
    """Attend one tile: one warp fetches, GROUPS groups of four warps have 64 rows each."""
    BLOCK_M: gl.constexpr = 64 * GROUPS
    rest = gl.program_id(0) % (tiles * section)
    tile = tiles - 1 - rest // section
    both = gl.program_id(0) // (tiles * section) * section + rest % section
    batch, head = both // heads, both % heads
    first_q, first_k = 0, 0
    if PACKED:
        # Each warp has all sequences, a sum is its own, and one instruction. (A sum through shared
        # memory is no number of the whole warp to the assembler, which then keeps all counters of
        # the long loop in registers of threads: a tenth more instructions.) A tile too many finds
        # no sequence, and gets no queries and no keys.
        index = gl.arange(0, BLOCK_B, gl.BlockedLayout([BLOCK_B // 32], [32], [4], [0]))
        inside = index < sequences
        start_q = gl.load(starts_q + index, mask=inside, other=0)
        start_k = gl.load(starts_k + index, mask=inside, other=0)
        count_q = gl.load(starts_q + index + 1, mask=inside, other=0) - start_q
        count_k = gl.load(starts_k + index + 1, mask=inside, other=0) - start_k
        own = (count_q + BLOCK_M - 1) // BLOCK_M
        end = gl.associative_scan(own, 0, _add)
        found = (end > tile) & (end - own <= tile)
        tile -= gl.sum(gl.where(found, end - own, 0), 0)
        first_q = gl.sum(gl.where(found, start_q, 0), 0)
        first_k = gl.sum(gl.where(found, start_k, 0), 0)
        queries = gl.sum(gl.where(found, count_q, 0), 0)
        keys = gl.sum(gl.where(found, count_k, 0), 0)
    row = tile * BLOCK_M
    blocks, whole = gl.cdiv(keys, BLOCK_N), keys // BLOCK_N
    if CAUSAL:
        blocks = min(blocks, gl.cdiv(row + BLOCK_M + keys - queries, BLOCK_N))
        whole = min(whole, (row + 1 + keys - queries) // BLOCK_N)
    blocks, whole = max(blocks, 1), max(whole, 0)  # one block at least: its mask may hide it all
    o += batch.to(gl.int64) * o_batch + head.to(gl.int64) * o_head + first_q.to(gl.int64) * o_row
    lse += batch.to(gl.int64) * lse_batch + head.to(gl.int64) * lse_head + first_q

    q_tiles = gl.allocate_shared_memory(q.dtype, [GROUPS, 1, 1, 64, BLOCK_D], q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, 1, 1, BLOCK_N, BLOCK_D], k.layout)
    v_tiles = gl.allocate_shared_memory(v.dtype, [STAGES, 1, 1, BLOCK_N, BLOCK_D], v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(k_free.index(slot), count=GROUPS)
        mbarrier.init(v_free.index(slot), count=GROUPS)
    fence_async_shared()
    tiles_in = (q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free)
    fetch = (q, k, v, tiles_in, batch, head, head // share, first_q + row, first_k, blocks)
    use = (tiles_in, o, lse, o_row, row, queries, keys, blocks, whole, factor)
    # Registers: the fetching warp gives its share to the others, which hold scores and output.
    if GROUPS == 2:
        gl.warp_specialize([
            (_consume, (use, 0, WIDTH, BLOCK_N, BLOCK_D, CAUSAL, PACKED, STAGES, GROUPS)),
            (_consume, (use, 1, WIDTH, BLOCK_N, BLOCK_D, CAUSAL, PACKED, STAGES, GROUPS)),
            (_fetch, (fetch, BLOCK_N, STAGES, GROUPS)),
        ], [4, 1], [240, 24])  # fmt: skip
    else:
        gl.warp_specialize([
            (_consume, (use, 0, WIDTH, BLOCK_N, BLOCK_D, CAUSAL, PACKED, STAGES, GROUPS)),
            (_consume, (use, 1, WIDTH, BLOCK_N, BLOCK_D, CAUSAL, PACKED, STAGES, GROUPS)),
            (_consume, (use, 2, WIDTH, BLOCK_N, BLOCK_D, CAUSAL, PACKED, STAGES, GROUPS)),
            (_fetch, (fetch, BLOCK_N, STAGES, GROUPS)),
        ], [4, 4, 1], [160, 160, 24])  # fmt: skip


@gluon.jit
def _add(a, b):
    return a + b


@gluon.jit
def _fetch(arguments, BLOCK_N: gl.constexpr, STAGES: gl.constexpr, GROUPS: gl.constexpr):
    """Copy the queries, then blocks of keys and values from the last to the first, into a ring."""
    q, k, v, tiles, batch, head, group, first_q, first_k, blocks = arguments
    q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full, v_free = tiles
    mbarrier.expect(q_full, GROUPS * q.block_type.nbytes)
    for i in gl.static_range(GROUPS):
        at = [batch, head, first_q + 64 * i, 0]
        async_load(q, at, q_full, q_tiles.index(i))
    for count in range(blocks):
        slot = count % STAGES
        at = [batch, group, first_k + (blocks - 1 - count) * BLOCK_N, 0]
        mbarrier.wait(k_free.index(slot), (count // STAGES & 1) ^ 1)  # free at first
        mbarrier.expect(k_full.index(slot), k.block_type.nbytes)
        async_load(k, at, k_full.index(slot), k_tiles.index(slot))
        mbarrier.wait(v_free.index(slot), (count // STAGES & 1) ^ 1)
        mbarrier.expect(v_full.index(slot), v.block_type.nbytes)
        async_load(v, at, v_full.index(slot), v_tiles.index(slot))


@gluon.jit
def _consume(
    arguments, INDEX: gl.constexpr, WIDTH: gl.constexpr, BLOCK_N: gl.constexpr,
    BLOCK_D: gl.constexpr, CAUSAL: gl.constexpr, PACKED: gl.constexpr, STAGES: gl.constexpr,
    GROUPS: gl.constexpr,
):  # fmt: skip
    """Attend rows 64 * INDEX to 64 * INDEX + 63 of the tile."""
    tiles, o, lse, o_row, row, queries, keys, blocks, whole, factor = arguments
    q_tiles, k_tiles, v_tiles, q_full, k_full, k_free, v_full, _ = tiles
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    OUTPUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_D, 16])
    ROOM: gl.constexpr = GROUPS == 2  # for float32 weights, beside scores and output
    rows = row + 64 * INDEX + gl.arange(0, 64, gl.SliceLayout(1, SCORES))
    last = gl.zeros_like(rows) + keys - 1  # the last key that each row sees
    if CAUSAL:
        last = gl.minimum(last, rows + keys - queries)
    edge = row + 64 * INDEX + 1 + keys - queries  # all rows see the keys before it
    total = gl.zeros([64], gl.float32, gl.SliceLayout(1, SCORES))
    top = gl.full([64], -float("inf"), gl.float32, gl.SliceLayout(1, SCORES))
    acc = gl.zeros([64, BLOCK_D], gl.float32, OUTPUT)
    no_scores = gl.zeros([64, BLOCK_N], gl.float32, SCORES)

    # The last block of keys comes first: with the end of the sequence or the diagonal behind it,
    # all the masking is over before the long loop.
    q = q_tiles.index(INDEX).reshape([64, BLOCK_D])
    passed = 0
    if not CAUSAL:  # under a mask the loop that begins anywhere costs more than is passed over
        passed = gl.where(row + 64 * INDEX < queries, 0, blocks - 1)  # no row: all but one
    _pass(tiles, passed, STAGES)
    first, parity = passed % STAGES, passed // STAGES & 1
    mbarrier.wait(q_full, 0)
    mbarrier.wait(k_full.index(first), parity)
    k = k_tiles.index(first).reshape([BLOCK_N, BLOCK_D]).permute((1, 0))
    scores = warpgroup_mma(q, k, no_scores, use_acc=False, is_async=True)
    scores = warpgroup_mma_wait(0, deps=[scores])
    mbarrier.arrive(k_free.index(first), count=1)
    column = (blocks - 1 - passed) * BLOCK_N
    scores = _mask(scores, column, last, BLOCK_N)
    p, total, top, _ = _weigh(scores, total, top, factor, True)
    if not ROOM:
        p = _rounded(p, k_tiles.dtype, OUTPUT)
    mbarrier.wait(v_full.index(first), parity)
    if PACKED:
        if column + BLOCK_N > keys:  # behind are rows of another sequence: 0 times their NaN is NaN
            _blank(
                v_tiles.index(first).reshape([BLOCK_N, BLOCK_D]), keys - column, BLOCK_N, BLOCK_D
            )
    # A causal mask is over after a block or two. A loop for them makes the next loop shorter, but
    # costs registers: without room for it the blocks of one loop ask whether they are masked.
    state = (acc, p, total, top)
    masked = passed + 1
    if CAUSAL:
        masked = blocks - min(whole, blocks - 1) if ROOM else blocks
        for count in range(1, masked):
            at = (blocks - 1 - count) * BLOCK_N
            state = _step(
                state, q, tiles, count, at, last, edge, factor, BLOCK_N, BLOCK_D, STAGES, ROOM, True
            )
    if ROOM or not CAUSAL:
        for count in range(masked, blocks):
            state = _step(
                state, q, tiles, count, 0, last, edge, factor, BLOCK_N, BLOCK_D, STAGES, ROOM, False
            )
    acc, p, total, top = state
    v = v_tiles.index((blocks - 1) % STAGES).reshape([BLOCK_N, BLOCK_D])
    p = _rounded(p, k_tiles.dtype, OUTPUT) if ROOM else p
    acc = warpgroup_mma(p, v, acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])

    divisor = gl.where(total > 0, total, 1.0)
    natural = (top * factor + gl.log2(divisor)) * 0.6931471805599453
    natural = gl.where(total > 0, natural, -float("inf"))
    gl.store(lse + rows, natural, mask=rows < queries)
    acc = acc * gl.convert_layout(1.0 / divisor, gl.SliceLayout(1, OUTPUT))[:, None]
    STORE: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BLOCK_D, BLOCK_D // 8], [4, 1], [1, 0])
    acc = gl.convert_layout(acc.to(o.dtype.element_ty), STORE)  # 16 bytes for each thread
    rows = row + 64 * INDEX + gl.arange(0, 64, gl.SliceLayout(1, STORE))
    d = gl.arange(0, BLOCK_D, gl.SliceLayout(0, STORE))
    o += rows.to(gl.int64)[:, None] * o_row + d[None, :]
    gl.store(o, acc, mask=(rows < queries)[:, None] & (d < WIDTH)[None, :])


@gluon.jit
def _pass(tiles, count, STAGES: gl.constexpr):
    """Give the first ``count`` blocks back unread: others of the tile read them."""
    _, _, _, _, k_full, k_free, v_full, v_free = tiles
    for index in range(count):
        slot, parity = index % STAGES, index // STAGES & 1
        mbarrier.wait(k_full.index(slot), parity)
        mbarrier.arrive(k_free.index(slot), count=1)
        mbarrier.wait(v_full.index(slot), parity)
        mbarrier.arrive(v_free.index(slot), count=1)


@gluon.jit
def _rounded(p, dtype: gl.constexpr, OUTPUT: gl.constexpr):
    """Return weights as the product with the values takes them."""
    return gl.convert_layout(p.to(dtype), gl.DotOperandLayout(0, OUTPUT, 2))


@gluon.jit
def _step(
    state, q, tiles, count, column, last, edge, factor, BLOCK_N: gl.constexpr,
    BLOCK_D: gl.constexpr, STAGES: gl.constexpr, ROOM: gl.constexpr, MASKED: gl.constexpr,
):  # fmt: skip
    """Score block ``count`` of the keys while the values of the block before are being added up."""
    acc, p, total, top = state
    _, k_tiles, v_tiles, _, k_full, k_free, v_full, v_free = tiles
    slot, before = count % STAGES, (count - 1) % STAGES
    OUTPUT: gl.constexpr = acc.type.layout
    SCORES: gl.constexpr = total.type.layout.parent
    mbarrier.wait(k_full.index(slot), count // STAGES & 1)
    none = gl.zeros([64, BLOCK_N], gl.float32, SCORES)
    k = k_tiles.index(slot).reshape([BLOCK_N, BLOCK_D]).permute((1, 0))
    scores = warpgroup_mma(q, k, none, use_acc=False, is_async=True)
    # Rounded here if there is room: from loop to loop the compiler hands 16 bits on as two halves.
    weights = _rounded(p, k_tiles.dtype, OUTPUT) if ROOM else p
    v = v_tiles.index(before).reshape([BLOCK_N, BLOCK_D])
    acc = warpgroup_mma(weights, v, acc, is_async=True)
    scores = warpgroup_mma_wait(1, deps=[scores])  # acc goes on beside the exponentials
    mbarrier.arrive(k_free.index(slot), count=1)
    if MASKED:
        if ROOM:
            scores = _mask(scores, column, last, BLOCK_N)
        elif column + BLOCK_N > edge:
            scores = _mask(scores, column, last, BLOCK_N)
    p, total, top, rescale = _weigh(scores, total, top, factor, MASKED)
    # This wait could stand later; here it also keeps the assembler from moving the one for acc up
    # to before the exponentials.
    mbarrier.wait(v_full.index(slot), count // STAGES & 1)
    acc, p = warpgroup_mma_wait(0, deps=[acc, p])
    p = p if ROOM else _rounded(p, k_tiles.dtype, OUTPUT)
    mbarrier.arrive(v_free.index(before), count=1)
    acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, OUTPUT))[:, None]
    return acc, p, total, top


@gluon.jit
def _mask(scores, column, last, BLOCK_N: gl.constexpr):
    """Hide the keys that a row does not see."""
    columns = column + gl.arange(0, BLOCK_N, gl.SliceLayout(0, scores.type.layout))
    return gl.where(columns[None, :] <= last[:, None], scores, -float("inf"))


@gluon.jit
def _weigh(scores, total, top, factor, MASKED: gl.constexpr):
    """Turn scores into weights; return them, the new sum and maximum, and what rescales the old."""
    new_top = gl.maximum(top, gl.max(scores, 1))
    shift = new_top * factor
    if MASKED:
        shift = gl.where(new_top == -float("inf"), 0.0, shift)
    p = gl.exp2(scores * factor - shift[:, None])
    rescale = gl.exp2(top * factor - shift)
    return p, total * rescale + gl.sum(p, 1), new_top, rescale


@gluon.jit
def _blank(tile, count, BLOCK_N: gl.constexpr, BLOCK_D: gl.constexpr):
    """Write zeros to the rows of a tile from ``count`` on."""
    LAYOUT: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BLOCK_D, BLOCK_D // 8], [4, 1], [1, 0])
    inside = gl.arange(0, BLOCK_N, gl.SliceLayout(1, LAYOUT)) < count
    values = tile.load(LAYOUT)
    tile.store(gl.where(inside[:, None], values, gl.zeros_like(values)))
    fence_async_shared()
