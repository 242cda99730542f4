"""Flash attention: the T x S matrix of scores exists one tile at a time.

One Triton kernel serves the dense and the packed layout: a packed batch is a dense batch of one whose
sequences start at given rows. Its tiles come through the bulk copy engine (tensor descriptors) where
the layout allows it, through masked pointers where not; NOTES.md has the measurements behind
each choice. simple.py among the variants is the same algorithm without them.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2_E = math.log2(math.e)


def merge(
    o1: Tensor,  # [..., T, D]
    lse1: Tensor,  # [..., T]
    o2: Tensor,  # [..., T, D]
    lse2: Tensor,  # [..., T]
) -> tuple[Tensor, Tensor]:
    """Join two partial results over disjoint keys into the result over all of them.

    A side with lse -inf saw no key and weighs nothing, whatever its o holds; with two such sides o is 0.
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
    o = torch.zeros_like(rows, memory_format=torch.contiguous_format)
    lse = torch.full(rows.shape[:-1], -math.inf, dtype=torch.float32, device=q.device)
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
    """Attend by one Triton kernel; rows that see no key give 0 and lse -inf."""
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
    _launch(q, k, v, o, lse, causal, scale)
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
    o = torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(1, q.shape[1], q.shape[0], dtype=torch.float32, device=q.device)
    packed = [x.transpose(0, 1).unsqueeze(0) for x in (q, k, v, o)]
    _launch(*packed, lse, causal, None, cu_seqlens_q, cu_seqlens_k)
    return o


def _launch(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    causal: bool,
    scale: float | None,
    starts_q: Tensor | None = None,
    starts_k: Tensor | None = None,
) -> None:
    batch, heads, queries, width = q.shape
    if o.numel() == 0:
        return
    scale = width**-0.5 if scale is None else scale
    if scale <= 0:  # the kernel takes the maximum before it scales, which needs a positive factor
        q, scale = (-q, -scale) if scale < 0 else (torch.zeros_like(q), 1.0)
    block_d = max(16, triton.next_power_of_2(width))
    descriptors = all(_fits_descriptor(x) for x in (q, k, v))
    block_m, block_n, options = _tiles(q, block_d, causal, descriptors)
    sequences = batch if starts_q is None else len(starts_q) - 1
    tiles = triton.cdiv(queries, block_m) + (0 if starts_q is None else sequences)
    sources = (q, k, v)
    if descriptors:
        shapes = [1, 1, block_m, block_d], [1, 1, block_n, block_d], [1, 1, block_n, block_d]
        sources = tuple(
            TensorDescriptor.from_tensor(x, shape) for x, shape in zip(sources, shapes, strict=True)
        )
    _attend[(tiles * heads * batch,)](
        *sources, o, lse, starts_q, starts_k,
        q.stride(), k.stride(), v.stride(), o.stride(), lse.stride(),
        queries, k.shape[2], heads, heads // k.shape[1], tiles, sequences, scale * LOG2_E,
        WIDTH=width, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_D=block_d,
        CAUSAL=causal, DESCRIPTORS=descriptors,
        BLOCK_B=triton.next_power_of_2(sequences), **options,
    )  # fmt: skip


def _fits_descriptor(x: Tensor) -> bool:
    """Tell whether the bulk copy engine can read x: Hopper on, 16 bits, strides of whole 16 bytes."""
    if not x.is_cuda or x.element_size() != 2 or x.numel() == 0:
        return False
    if torch.cuda.get_device_capability(x.device)[0] < 9:
        return False
    outer = all(stride > 0 and stride % 8 == 0 for stride in x.stride()[:-1])
    return outer and x.stride(-1) == 1 and x.data_ptr() % 16 == 0


def _tiles(q: Tensor, block_d: int, causal: bool, descriptors: bool) -> tuple[int, int, dict]:
    """Choose BLOCK_M, BLOCK_N and the launch options; the table is measured, see NOTES.md."""
    if q.element_size() > 2:
        return (32, 32, {"num_warps": 4, "num_stages": 1})
    if not descriptors or block_d > 128:
        return (64, 64, {"num_warps": 4, "num_stages": 2})
    return (128, 128, {"num_warps": 8, "num_stages": 2})


@triton.jit
def _attend(
    q, k, v, o, lse, starts_q, starts_k,
    q_strides, k_strides, v_strides, o_strides, lse_strides,
    queries, keys, heads, share, tiles, sequences, factor,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr, DESCRIPTORS: tl.constexpr, BLOCK_B: tl.constexpr,
):  # fmt: skip
    """Attend one tile of BLOCK_M queries of one head; ``factor`` is scale times log2(e)."""
    program = tl.program_id(0)
    head = program // tiles % heads
    batch = program // tiles // heads
    # Causal tiles at the end of a sequence are the longest: started first, they leave no lone straggler.
    tile = tiles - 1 - program % tiles
    first_q, first_k = 0, 0
    if starts_q is not None:
        sequence, tile = _find_sequence(starts_q, tile, sequences, BLOCK_M, BLOCK_B)
        if sequence >= sequences:
            return
        first_q, first_k = tl.load(starts_q + sequence), tl.load(starts_k + sequence)
        queries = tl.load(starts_q + sequence + 1) - first_q
        keys = tl.load(starts_k + sequence + 1) - first_k

    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    q_tile = _load(
        q, q_strides, batch, head, first_q, tile * BLOCK_M, queries,
        BLOCK_M, BLOCK_D, WIDTH, DESCRIPTORS,
    )  # fmt: skip
    # Keys before ``open`` are seen by every row of the tile, keys from ``stop`` on by none.
    shift = keys - queries
    open, stop = keys, keys
    if CAUSAL:
        open = tl.maximum(tl.minimum(tile * BLOCK_M + shift + 1, keys), 0)
        stop = tl.maximum(tl.minimum(tile * BLOCK_M + BLOCK_M + shift, keys), 0)
    open = open // BLOCK_N * BLOCK_N

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    top = tl.full([BLOCK_M], -float("inf"), tl.float32)
    group = head // share
    last = rows + shift if CAUSAL else tl.zeros_like(rows) + keys
    last = tl.minimum(last, keys - 1)
    acc, total, top = _sweep(
        acc, total, top, q_tile, k, v, k_strides, v_strides, batch, group, first_k, 0, open, last, keys,
        factor, BLOCK_N, BLOCK_D, WIDTH, DESCRIPTORS, False, starts_q is not None,
    )  # fmt: skip
    acc, total, top = _sweep(
        acc, total, top, q_tile, k, v, k_strides, v_strides, batch, group, first_k, open, stop, last, keys,
        factor, BLOCK_N, BLOCK_D, WIDTH, DESCRIPTORS, True, starts_q is not None,
    )  # fmt: skip

    inside = rows < queries
    columns = tl.arange(0, BLOCK_D)
    divisor = tl.where(total > 0, total, 1.0)  # 0 where a row saw no key
    lse += batch.to(tl.int64) * lse_strides[0] + head * lse_strides[1] + first_q
    natural = (top * factor + tl.log2(divisor)) * 0.6931471805599453
    tl.store(lse + rows, tl.where(total > 0, natural, -float("inf")), mask=inside)
    o += batch.to(tl.int64) * o_strides[0] + head.to(tl.int64) * o_strides[1]
    o += (first_q + rows).to(tl.int64)[:, None] * o_strides[2] + columns[None, :]
    acc = (acc / divisor[:, None]).to(o.dtype.element_ty)
    tl.store(o, acc, mask=inside[:, None] & (columns < WIDTH)[None, :])


@triton.jit
def _sweep(
    acc, total, top, q, k, v, k_strides, v_strides, batch, group, first, start, stop, last, keys,
    factor, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, WIDTH: tl.constexpr,
    DESCRIPTORS: tl.constexpr, MASKED: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """Fold the keys from ``start`` to ``stop`` into the running output, sum and maximum."""
    for column in range(start, stop, BLOCK_N):
        k_tile = _load(
            k, k_strides, batch, group, first, column, keys, BLOCK_N, BLOCK_D, WIDTH, DESCRIPTORS
        )
        scores = tl.dot(q, k_tile.T, input_precision="ieee")
        if MASKED:
            columns = column + tl.arange(0, BLOCK_N)
            scores = tl.where(columns[None, :] <= last[:, None], scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        offset = new_top * factor
        if MASKED:  # a row that has seen no key yet: its weights are 0, not exp(-inf + inf)
            offset = tl.where(new_top == -float("inf"), 0.0, offset)
        # One fused multiply-add and exp2 for each score: the factor never touches q or the scores.
        p = tl.exp2(scores * factor - offset[:, None])
        rescale = tl.exp2(top * factor - offset)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        v_tile = _load(
            v, v_strides, batch, group, first, column, keys, BLOCK_N, BLOCK_D, WIDTH, DESCRIPTORS
        )
        if MASKED and PACKED and DESCRIPTORS:  # the rows behind may be another sequence's, with NaN
            inside = column + tl.arange(0, BLOCK_N) < keys
            v_tile = tl.where(inside[:, None], v_tile, 0.0)
        acc = tl.dot(p.to(v_tile.dtype), v_tile, acc, input_precision="ieee")
        top = new_top
    return acc, total, top


@triton.jit
def _load(
    source, strides, batch, head, first, row, count,
    ROWS: tl.constexpr, BLOCK_D: tl.constexpr, WIDTH: tl.constexpr, DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    """Load rows ``row`` to ``row`` + ROWS of a sequence of ``count`` rows that begins at ``first``."""
    if DESCRIPTORS:
        return source.load([batch, head, first + row, 0]).reshape(ROWS, BLOCK_D)
    rows = row + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK_D)
    source += batch.to(tl.int64) * strides[0] + head.to(tl.int64) * strides[1]
    offsets = (first + rows).to(tl.int64)[:, None] * strides[2] + columns[None, :] * strides[3]
    inside = (rows < count)[:, None] & (columns < WIDTH)[None, :]
    return tl.load(source + offsets, mask=inside, other=0.0)


@triton.jit
def _find_sequence(starts, tile, sequences, BLOCK_M: tl.constexpr, BLOCK_B: tl.constexpr):
    """Return the sequence that the batch's tile number ``tile`` lies in, and its number there."""
    index = tl.arange(0, BLOCK_B)
    begin = tl.load(starts + index, mask=index < sequences, other=0)
    end = tl.load(starts + index + 1, mask=index < sequences, other=0)
    ends = tl.cumsum(tl.cdiv(end - begin, BLOCK_M), 0)
    before = (ends <= tile) & (index < sequences)
    sequence = tl.sum(before.to(tl.int32), 0)
    return sequence, tile - tl.max(tl.where(before, ends, 0), 0)
