"""The blocks of keys that need a mask come first, the whole ones after; one launch a sequence."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = 1.4426950408889634


def merge(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> tuple[Tensor, Tensor]:
    top = torch.maximum(lse1, lse2)
    top = torch.where(top.isneginf(), 0.0, top)
    weight1, weight2 = (lse1 - top).exp(), (lse2 - top).exp()
    total = weight1 + weight2
    o = o1 * weight1.unsqueeze(-1) + o2 * weight2.unsqueeze(-1)
    o = o / total.clamp(min=1e-30).unsqueeze(-1)
    return o.to(o1.dtype), top + total.log()


def flash_attention_torch(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block: int = 64
) -> tuple[Tensor, Tensor]:
    H, T, D = q.shape[1:]
    G, S = k.shape[1:3]
    queries = q.float() / math.sqrt(D)
    rows = torch.arange(T, device=q.device)[:, None]
    acc = torch.zeros_like(queries)
    top = queries.new_full((*q.shape[:3], 1), -math.inf)
    total = torch.zeros_like(top)
    # Only the keys come in tiles: a tile of scores is [B, H, T, block].
    for start in range(0, S, block):
        keys, values = (
            x[:, :, start : start + block].float().repeat_interleave(H // G, 1) for x in (k, v)
        )
        scores = queries @ keys.transpose(2, 3)
        if causal:
            columns = torch.arange(start, start + keys.shape[2], device=q.device)
            scores.masked_fill_(columns > rows + S - T, -math.inf)
        new = torch.maximum(top, scores.max(-1, keepdim=True).values)
        finite = torch.where(new.isneginf(), 0.0, new)
        p = scores.sub_(finite).exp_()
        shrink = (top - finite).exp()
        acc, total = acc * shrink + p @ values, total * shrink + p.sum(-1, keepdim=True)
        top = new
    lse = torch.where(total > 0, top + total.log(), -math.inf)
    return torch.where(total > 0, acc / total, 0.0).to(q.dtype), lse.squeeze(-1)


@triton.jit
def _attend(
    acc, top, total, q, k_ptr, v_ptr, stride_ks, stride_kd, stride_vs, stride_vd, first, stop,
    S, last, scale, D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Take the keys from ``first`` to ``stop`` in; ``last`` is the last key that each row sees."""
    d = tl.arange(0, BLOCK_D)
    for start in range(first, stop, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k_at = k_ptr + columns.to(tl.int64)[None, :] * stride_ks + d[:, None] * stride_kd
        v_at = v_ptr + columns.to(tl.int64)[:, None] * stride_vs + d[None, :] * stride_vd
        if MASKED:
            inside = columns < S
            k = tl.load(k_at, mask=inside[None, :] & (d < D)[:, None], other=0.0)
            v = tl.load(v_at, mask=inside[:, None] & (d < D)[None, :], other=0.0)
        elif D < BLOCK_D:
            k = tl.load(k_at, mask=(d < D)[:, None], other=0.0)
            v = tl.load(v_at, mask=(d < D)[None, :], other=0.0)
        else:
            k = tl.load(k_at)
            v = tl.load(v_at)
        scores = tl.dot(q, k, input_precision=PRECISION)
        if MASKED:
            seen = inside[None, :] & (columns[None, :] <= last[:, None])
            scores = tl.where(seen, scores * scale, float("-inf"))
            new = tl.maximum(top, tl.max(scores, 1))
            safe = tl.where(new == float("-inf"), 0.0, new)  # -inf - -inf would be NaN
            p = tl.exp2(scores - safe[:, None])
            shrink = tl.exp2(top - safe)
        else:
            # The scale is not negative: the maximum may be taken before it is applied.
            new = tl.maximum(top, tl.max(scores, 1) * scale)
            p = tl.exp2(scores * scale - new[:, None])
            shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision=PRECISION)
        top = new
    return acc, top, total


# Sizes that only bound loops and masks: no kernel of its own for T = 16 or S = 1.
@triton.jit(do_not_specialize=["T", "S", "H", "group", "row_blocks"])
def _forward(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, T, S, H, group, row_blocks,
    stride_qb, stride_qh, stride_qt, stride_qd,
    stride_kb, stride_kh, stride_ks, stride_kd,
    stride_vb, stride_vh, stride_vs, stride_vd,
    stride_ob, stride_oh, stride_ot, stride_od,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of query rows of one head of one sequence."""
    row_block = row_blocks - 1 - tl.program_id(1)  # under a causal mask the long rows go first
    head = tl.program_id(0) % H
    batch = (tl.program_id(0) // H).to(tl.int64)
    q_ptr += batch * stride_qb + head.to(tl.int64) * stride_qh
    k_ptr += batch * stride_kb + (head // group).to(tl.int64) * stride_kh
    v_ptr += batch * stride_vb + (head // group).to(tl.int64) * stride_vh
    o_ptr += batch * stride_ob + head.to(tl.int64) * stride_oh
    first = row_block * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < T)[:, None] & (d < D)[None, :]
    q_at = q_ptr + rows.to(tl.int64)[:, None] * stride_qt + d[None, :] * stride_qd
    q = tl.load(q_at, mask=mine, other=0.0)
    q = tl.where(scale < 0, -q, q)  # so that a larger product is a larger score
    scale = tl.abs(scale)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    last = rows + (S - T) if CAUSAL else tl.full([BLOCK_M], 2147483647, tl.int32)
    whole = S  # keys below it are seen by every row of the block
    stop = S
    if CAUSAL:
        whole = tl.maximum(0, tl.minimum(S, first + S - T + 1))
        stop = tl.maximum(0, tl.minimum(S, first + BLOCK_M + S - T))
    whole = whole // BLOCK_N * BLOCK_N
    acc, top, total = _attend(
        acc, top, total, q, k_ptr, v_ptr, stride_ks, stride_kd, stride_vs, stride_vd, whole, stop,
        S, last, scale, D, BLOCK_N, BLOCK_D, True, PRECISION,
    )  # fmt: skip
    acc, top, total = _attend(
        acc, top, total, q, k_ptr, v_ptr, stride_ks, stride_kd, stride_vs, stride_vd, 0, whole,
        S, last, scale, D, BLOCK_N, BLOCK_D, False, PRECISION,
    )  # fmt: skip
    some = total > 0
    o = acc / tl.where(some, total, 1.0)[:, None]
    o_at = o_ptr + rows.to(tl.int64)[:, None] * stride_ot + d[None, :] * stride_od
    tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=mine)
    lse = (top + tl.log2(tl.where(some, total, 1.0))) * 0.6931471805599453
    lse_at = lse_ptr + (batch * H + head) * T + rows
    tl.store(lse_at, tl.where(some, lse, float("-inf")), mask=rows < T)


def _sizes(q: Tensor) -> tuple[int, int, int, int]:
    """Return BLOCK_M, BLOCK_N, warps and stages: what fits registers and shared memory."""
    D = q.shape[-1]
    if q.dtype == torch.float32:
        return (32, 32, 4, 2) if D <= 64 else (16, 32, 4, 1)  # no tensor cores: unrolled
    if D <= 64:
        return 128, 64, 4, 3
    return (128, 64, 8, 3) if D <= 128 else (64, 32, 4, 2)


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    B, H, T, D = q.shape
    G, S = k.shape[1:3]
    o = torch.empty((B, H, T, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, T), dtype=torch.float32, device=q.device)
    if o.numel() == 0:
        return o, lse
    BLOCK_M, BLOCK_N, warps, stages = _sizes(q)
    row_blocks = triton.cdiv(T, BLOCK_M)
    _forward[(B * H, row_blocks)](
        q, k, v, o, lse, (D**-0.5 if scale is None else scale) * LOG2_E,
        T, S, H, H // G, row_blocks,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, "ieee",
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return o, lse


def flash_attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    causal: bool = False,
) -> Tensor:
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    starts_q, starts_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    for b in range(len(starts_q) - 1):
        rows, keys = slice(*starts_q[b : b + 2]), slice(*starts_k[b : b + 2])
        one = (x.transpose(0, 1).unsqueeze(0) for x in (q[rows], k[keys], v[keys]))
        o[rows] = flash_attention(*one, causal)[0][0].transpose(0, 1)
    return o
