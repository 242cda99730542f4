"""Attention from its definition, in float64: the whole matrix of scores, then a softmax by hand.

What a submission must not do is done here on purpose. A query that sees no key gives 0 and a
log-sum-exp of -inf. The last query stands on the last key, whatever T and S are.
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
    scores = _scores(q.double(), k.double(), scale)
    if rounding:
        noise = torch.rand(scores.shape, generator=torch.Generator().manual_seed(1))
        scores = scores * (1 + rounding * (2 * noise.double() - 1))
    scores = _hide(scores, causal)
    lse = torch.logsumexp(scores, -1)
    safe = lse.masked_fill(lse == -math.inf, 0.0)
    return torch.exp(scores - safe[..., None]) @ _for_each_head(v.double(), q), lse


def attend_in_kind(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:  # in the dtype of q
    """Do the same in the dtype of the inputs: the error that is excused in a submission."""
    scores = _hide(_scores(q, k, scale), causal)
    weights = torch.softmax(scores, -1).nan_to_num()  # NaN where a row sees no key
    return weights @ _for_each_head(v, q), torch.logsumexp(scores, -1)


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
    found = [torch.zeros(0, *q.shape[1:], dtype=torch.float64)]
    for part in parts:
        queries, keys, values = (x.transpose(0, 1)[None] for x in part)
        o, _ = attention(queries, keys, values, causal)
        found.append(o[0].transpose(0, 1).double())
    return torch.cat(found)


def combine(
    parts: list[tuple[Tensor, Tensor]],  # o [..., T, D] and lse [..., T] of each
) -> tuple[Tensor, Tensor]:
    """Join results over disjoint keys, in float64."""
    o, lse = (torch.stack([part[i].double() for part in parts]) for i in (0, 1))
    whole = torch.logsumexp(lse, 0)
    safe = whole.masked_fill(whole == -math.inf, 0.0)
    weights = torch.exp(lse - safe)
    return (weights[..., None] * o).sum(0), whole


def _for_each_head(x: Tensor, q: Tensor) -> Tensor:
    """Repeat the key heads: query head h reads key head h // (H / G)."""
    return x.repeat_interleave(q.shape[1] // x.shape[1], dim=1)


def _scores(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    return q @ _for_each_head(k, q).mT * factor


def _hide(scores: Tensor, causal: bool) -> Tensor:
    if not causal:
        return scores
    rows, columns = scores.shape[-2:]
    seen = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return scores.masked_fill(~seen, -math.inf)
