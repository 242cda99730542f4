"""Causal attention in float32, the last query at the last key."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reference import attention as exact
from reference.ends.operator import Draw, Limit, Operator
from reference.limits import honest
from reference.limits.conditions import attention_off

Arguments = tuple[Tensor, Tensor, Tensor]


def random_scores(scale: float) -> Draw:
    def draw(generator: torch.Generator) -> Arguments:
        q, k, v = (torch.randn(3, 3, n, 6, generator=generator) for n in (5, 8, 8))
        return q * scale, k * scale, v

    return draw


def whole_scores(generator: torch.Generator) -> Arguments:
    """Draw small integers, with scores near 600: the product is exact in every order."""
    q, k = (torch.randint(-8, 9, (3, 2, n, 16), generator=generator).float() for n in (5, 13))
    q[..., 0], k[..., 0] = 40.0, 60.0
    return q, k, torch.randn(3, 2, 13, 16, generator=generator)


def levels(generator: torch.Generator) -> Arguments:
    """Draw heads whose scores have sizes of their own, from 1 to a million."""
    q, k, v = random_scores(1.0)(generator)
    sizes = torch.tensor([1.0, 1e3, 1e6]).sqrt()[:, None, None]
    return q * sizes, k * sizes, v


def one_key(generator: torch.Generator) -> Arguments:
    q, k, v = (torch.randn(2, 4, 1, 8, generator=generator) * 1e3 for _ in range(3))
    return q, k, v


def limit(q: Tensor, k: Tensor, v: Tensor) -> Limit:
    trusted = [o for o, _ in honest.attentions(q, k, v, causal=True)]
    options = {"trusted": trusted, "inner": k.shape[2], "off": attention_off(q, k, v)[0]}
    return Limit(exact.attend(q, k, v, causal=True)[0], "attention", options)


def hidden(q: Tensor, k: Tensor) -> Tensor:
    return ~torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])


def by_scores(softmax: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Attend in one go, with a softmax that is given."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT * q.shape[-1] ** -0.5
        return softmax(scores.masked_fill(hidden(q, k), -math.inf)) @ v

    return attend


def by_einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(hidden(q, k), -math.inf).softmax(-1)
    return torch.einsum("bhts,bhsd->bhtd", weights, v)


def by_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scale q, add up products one by one, divide last."""
    q = q / math.sqrt(q.shape[-1])
    scores = sum(q[..., d, None] * k[..., None, :, d] for d in range(q.shape[-1]))
    assert isinstance(scores, Tensor)
    scores = scores.masked_fill(hidden(q, k), -math.inf)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v) / weights.sum(-1, keepdim=True)


def key_by_key(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Go over the keys one at a time, by powers of e, with a running maximum."""
    best = torch.full((*q.shape[:3], 1), -math.inf)
    total, o = torch.zeros_like(best), torch.zeros_like(q)
    unseen = hidden(q, k)
    for s in range(k.shape[2]):
        score = (q * k[:, :, s : s + 1]).sum(-1, keepdim=True) * q.shape[-1] ** -0.5
        score = score.masked_fill(unseen[:, s : s + 1], -math.inf)
        higher = torch.maximum(best, score)
        weight, shrink = torch.exp(score - higher), torch.exp(best - higher)
        total, o = total * shrink + weight, o * shrink + weight * v[:, :, s : s + 1]
        best = higher
    return o / total


def by_torch(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    seen = ~hidden(q, k)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def by_log_sum_exp(scores: Tensor) -> Tensor:
    return torch.exp(scores - scores.logsumexp(-1, keepdim=True))


ATTENTION = Operator(
    "attention",
    {
        "ordinary": random_scores(1.0),
        "hundreds": random_scores(12.0),
        "ten thousand": random_scores(70.0),
        "a million": random_scores(700.0),
        "whole numbers": whole_scores,
        "levels from head to head": levels,
        "one key": one_key,
    },
    limit,
    {
        "einsum": by_einsum,
        "one product after the other": by_products,
        "key by key": key_by_key,
        "torch": by_torch,
        "log-sum-exp": by_scores(by_log_sum_exp),
        "logarithms": by_scores(lambda scores: scores.log_softmax(-1).exp()),
        "hidden by the lowest float": by_scores(
            lambda scores: scores.clamp_min(torch.finfo(scores.dtype).min).softmax(-1)
        ),
        "backwards": lambda q, k, v: by_einsum(q.flip(-1), k.flip(-1), v),
    },
    {
        "scores in float16": by_scores(lambda scores: scores.half().float().softmax(-1)),
        "weights in float16": by_scores(lambda scores: scores.softmax(-1).half().float()),
    },
)
