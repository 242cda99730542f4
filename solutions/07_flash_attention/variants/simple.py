"""One plain kernel for both layouts: no autotuning, no tensor descriptors, sizes picked by D."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = 1.4426950408889634


def merge(o1: Tensor, lse1: Tensor, o2: Tensor, lse2: Tensor) -> tuple[Tensor, Tensor]:
    lse = torch.logaddexp(lse1.float(), lse2.float())
    # A row that saw no key on either side: any finite stand-in makes both weights exp(-inf) = 0.
    safe = lse.masked_fill(lse == -math.inf, 0.0)
    weight1, weight2 = (torch.exp(part.float() - safe)[..., None] for part in (lse1, lse2))
    return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse


def flash_attention_torch(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block: int = 64
) -> tuple[Tensor, Tensor]:
    B, H, T, D = q.shape
    G, S = k.shape[1:3]
    o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
    # Query heads that share a key head: [B, G, H / G, rows, D] against [B, G, 1, keys, D].
    grouped, keys, values = q.reshape(B, G, H // G, T, D), k[:, :, None], v[:, :, None]
    for i in range(0, T, block):
        rows = grouped[..., i : i + block, :].float() * D**-0.5
        last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None] + S - T
        acc = torch.zeros_like(rows)
        top = torch.full_like(rows[..., :1], -math.inf)  # running maximum of the scores
        total = torch.zeros_like(top)  # running sum of exp(score - top)
        for j in range(0, min(S, i + block + S - T) if causal else S, block):
            scores = rows @ keys[..., j : j + block, :].float().mT
            if causal:
                columns = torch.arange(j, j + scores.shape[-1], device=q.device)
                scores = scores.masked_fill(columns > last, -math.inf)
            new = torch.maximum(top, scores.amax(-1, keepdim=True))
            safe = new.masked_fill(new == -math.inf, 0.0)  # -inf - -inf would be NaN
            p, shrink = torch.exp(scores - safe), torch.exp(top - safe)
            acc = acc * shrink + p @ values[..., j : j + block, :].float()
            total = total * shrink + p.sum(-1, keepdim=True)
            top = new
        o[:, :, i : i + block] = (acc / total.clamp(min=1e-30)).reshape(B, H, len(last), D)
        lse[:, :, i : i + block] = (top + total.log()).reshape(B, H, len(last))
    return o, lse


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
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, starts_q, starts_k, scale, T, S, H, group, row_blocks,
    stride_qb, stride_qh, stride_qt, stride_qd,
    stride_kb, stride_kh, stride_ks, stride_kd,
    stride_vb, stride_vh, stride_vs, stride_vd,
    stride_ob, stride_oh, stride_ot, stride_od,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr, VARLEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One block of query rows of one head of one sequence."""
    pid = tl.program_id(0)
    row_block = row_blocks - 1 - pid % row_blocks  # under a causal mask the long rows go first
    head = (pid // row_blocks) % H
    batch = (pid // row_blocks // H).to(tl.int64)
    q_ptr += batch * stride_qb + head.to(tl.int64) * stride_qh
    k_ptr += batch * stride_kb + (head // group).to(tl.int64) * stride_kh
    v_ptr += batch * stride_vb + (head // group).to(tl.int64) * stride_vh
    o_ptr += batch * stride_ob + head.to(tl.int64) * stride_oh
    if VARLEN:
        q_start = tl.load(starts_q + batch).to(tl.int64)
        k_start = tl.load(starts_k + batch).to(tl.int64)
        T = (tl.load(starts_q + batch + 1) - q_start).to(tl.int32)
        S = (tl.load(starts_k + batch + 1) - k_start).to(tl.int32)
        q_ptr += q_start * stride_qt
        o_ptr += q_start * stride_ot
        k_ptr += k_start * stride_ks
        v_ptr += k_start * stride_vs
    first = row_block * BLOCK_M
    if first >= T:
        return
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
        acc, top, total, q, k_ptr, v_ptr, stride_ks, stride_kd, stride_vs, stride_vd, 0, whole,
        S, last, scale, D, BLOCK_N, BLOCK_D, False, PRECISION,
    )  # fmt: skip
    acc, top, total = _attend(
        acc, top, total, q, k_ptr, v_ptr, stride_ks, stride_kd, stride_vs, stride_vd, whole, stop,
        S, last, scale, D, BLOCK_N, BLOCK_D, True, PRECISION,
    )  # fmt: skip
    some = total > 0
    o = acc / tl.where(some, total, 1.0)[:, None]
    o_at = o_ptr + rows.to(tl.int64)[:, None] * stride_ot + d[None, :] * stride_od
    tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=mine)
    if not VARLEN:
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
    _forward[(row_blocks * B * H,)](
        q, k, v, o, lse, None, None, (D**-0.5 if scale is None else scale) * LOG2_E,
        T, S, H, H // G, row_blocks,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, False, "ieee",
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
    B, (_, H, D) = len(cu_seqlens_q) - 1, q.shape
    if o.numel() == 0:
        return o
    BLOCK_M, BLOCK_N, warps, stages = _sizes(q)
    row_blocks = triton.cdiv(int(cu_seqlens_q.diff().max()), BLOCK_M)
    q_, k_, v_, o_ = (  # strides of batch, head, row, column: all sequences lie in one
        (0, x.stride(1), x.stride(0), x.stride(2)) for x in (q, k, v, o)
    )
    _forward[(row_blocks * B * H,)](
        q, k, v, o, None, cu_seqlens_q, cu_seqlens_k, D**-0.5 * LOG2_E,
        0, 0, H, H // k.shape[1], row_blocks, *q_, *k_, *v_, *o_,
        D, BLOCK_M, BLOCK_N, max(16, triton.next_power_of_2(D)), causal, True, "ieee",
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return o
