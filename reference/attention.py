"""Attention from its definition, in float64: the whole matrix of scores, then a softmax by hand.

What a submission must not do is done here on purpose. A query that sees no key gives 0 and a
log-sum-exp of -inf. The last query stands on the last key, whatever T and S are.

Shapes end names: B sequences, H query heads, G key/value heads, T queries, S keys, D head width, 1
an axis of one. So ``scores_BHTS`` is [B, H, T, S].
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

# q [B, H, T, D], k and v [B, G, S, D], causal -> o [B, H, T, D], lse [B, H, T]
Attention = Callable[[Tensor, Tensor, Tensor, bool], tuple[Tensor, Tensor]]


def attend(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,
    *,
    rounding: float = 0.0,
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D], lse [B, H, T], both float64
    """Return attention and the logarithm of each row's sum of exp(score).

    With ``rounding`` every score is off by up to that fraction of itself, at random: what a
    difference of it between two attentions can be made of.
    """
    scores_BHTS = _scores(q.double(), k.double(), scale)
    if rounding:
        noise_BHTS = torch.rand(scores_BHTS.shape, generator=torch.Generator().manual_seed(1))
        scores_BHTS = scores_BHTS * (1 + rounding * (2 * noise_BHTS.double() - 1))
    scores_BHTS = _hide(scores_BHTS, causal)
    lse_BHT = torch.logsumexp(scores_BHTS, -1)
    safe_BHT = lse_BHT.masked_fill(lse_BHT == -math.inf, 0.0)
    weights_BHTS = torch.exp(scores_BHTS - safe_BHT[..., None])
    return weights_BHTS @ _for_each_head(v.double(), q), lse_BHT


def attend_in_kind(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D], lse [B, H, T], both in the dtype of q
    """Do the same in the dtype of the inputs: the error that is excused in a submission."""
    scores_BHTS = _hide(_scores(q, k, scale), causal)
    weights_BHTS = torch.softmax(scores_BHTS, -1).nan_to_num()  # NaN where a row sees no key
    return weights_BHTS @ _for_each_head(v, q), torch.logsumexp(scores_BHTS, -1)


def attend_packed(
    q: Tensor,  # [total, H, D]
    k: Tensor,  # [total, G, D]
    v: Tensor,  # [total, G, D]
    lengths_q: list[int],
    lengths_k: list[int],
    causal: bool = False,
    attention: Attention = attend,
) -> Tensor:  # [total, H, D]
    """Attend within each of the sequences that lie one behind the other; float64."""
    parts = zip(q.split(lengths_q), k.split(lengths_k), v.split(lengths_k), strict=True)
    found = [torch.zeros(0, *q.shape[1:], dtype=torch.float64)]  # o_THD of each, of none at first
    for q_THD, k_SGD, v_SGD in parts:
        q_1HTD, k_1GSD, v_1GSD = (x.transpose(0, 1)[None] for x in (q_THD, k_SGD, v_SGD))
        o_1HTD, _ = attention(q_1HTD, k_1GSD, v_1GSD, causal)
        found.append(o_1HTD[0].transpose(0, 1).double())
    return torch.cat(found)


def combine(
    parts: list[tuple[Tensor, Tensor]],  # o [..., T, D] and lse [..., T] of each
) -> tuple[Tensor, Tensor]:  # o [..., T, D], lse [..., T]
    """Join results over disjoint keys, in float64."""
    # o [parts, ..., T, D]; lse and weights [parts, ..., T]; whole and safe [..., T]
    o, lse = (torch.stack([part[i].double() for part in parts]) for i in (0, 1))
    whole = torch.logsumexp(lse, 0)
    safe = whole.masked_fill(whole == -math.inf, 0.0)
    weights = torch.exp(lse - safe)
    return (weights[..., None] * o).sum(0), whole


def _for_each_head(x_BGSD: Tensor, q_BHTD: Tensor) -> Tensor:  # [B, H, S, D]
    """Repeat the key heads: query head h reads key head h // (H / G)."""
    return x_BGSD.repeat_interleave(q_BHTD.shape[1] // x_BGSD.shape[1], dim=1)


def _scores(q_BHTD: Tensor, k_BGSD: Tensor, scale: float | None) -> Tensor:  # [B, H, T, S]
    factor = q_BHTD.shape[-1] ** -0.5 if scale is None else scale
    return q_BHTD @ _for_each_head(k_BGSD, q_BHTD).mT * factor


def _hide(scores_BHTS: Tensor, causal: bool) -> Tensor:  # [B, H, T, S]
    if not causal:
        return scores_BHTS
    new, context = scores_BHTS.shape[-2:]
    seen_TS = torch.ones(new, context, dtype=torch.bool).tril(context - new)
    return scores_BHTS.masked_fill(~seen_TS, -math.inf)


def signs_that_cancel(
    generator: torch.Generator,
    count: int,  # 64 at least
    width: int,
) -> Tensor:  # float32 [count, width]: 1, -1 and 0
    """Draw signs whose columns add up to 0; at 64 places of each, or 65, stands 0.

    Values with such signs leave nothing of a sum over all of a column, and much in each part of it.
    """
    half = (count - 64) // 2
    signs = torch.cat((torch.ones(half), -torch.ones(half), torch.zeros(count - 2 * half)))
    orders = [torch.randperm(count, generator=generator) for _ in range(width)]
    return torch.stack([signs[order] for order in orders], 1)
