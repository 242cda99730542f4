"""Softmax over the last axis, of scores that may be hidden."""

import math

import torch
from torch import Tensor

from reference.ends.operator import Draw, Limit, Operator
from reference.limits.conditions import softmax_off

ROWS, WIDTH = 5, 37


def spread(scale: float, level: float = 0.0) -> Draw:
    def draw(generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randn(ROWS, WIDTH, generator=generator) * scale + level,)

    return draw


def levels(generator: torch.Generator) -> tuple[Tensor]:
    """Draw scores from -1e6 to 1e6 in one row, some of them near its best."""
    scores = torch.randn(ROWS, WIDTH, generator=generator) * 3e5
    best = scores.amax(-1, keepdim=True)
    near = torch.rand(ROWS, WIDTH, generator=generator) < 0.3
    return (torch.where(near, best - torch.rand(ROWS, WIDTH, generator=generator), scores),)


def hidden(generator: torch.Generator) -> tuple[Tensor]:
    (scores,) = spread(30.0)(generator)
    return (scores.masked_fill(torch.ones(ROWS, WIDTH).triu(3).bool(), -math.inf),)


def limit(scores: Tensor) -> Limit:
    want = torch.softmax(scores.double(), -1)
    return Limit(want, "elementwise", {"off": softmax_off(scores)})


def by_maximum(scores: Tensor) -> Tensor:
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return weights / weights.sum(-1, keepdim=True)


def by_powers_of_two(scores: Tensor) -> Tensor:
    scores = scores * torch.tensor(math.log2(math.e))
    weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return weights * (1 / weights.sum(-1, keepdim=True))


def one_by_one(scores: Tensor) -> Tensor:
    """Go over the scores with a running maximum and a running sum."""
    best = torch.full((*scores.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(best)
    for score in scores.split(1, -1):
        higher = torch.maximum(best, score)
        total = total * torch.exp(best - higher) + torch.exp(score - higher)
        best = higher
    return torch.exp(scores - best) / total


def by_halves(scores: Tensor) -> Tensor:
    """Weigh the softmax of each half by its log-sum-exp."""
    halves = scores.tensor_split(2, -1)
    first, second = (part.logsumexp(-1, keepdim=True) for part in halves)
    shares = torch.sigmoid(first - second), torch.sigmoid(second - first)
    parts = (
        share * part.softmax(-1).nan_to_num() for share, part in zip(shares, halves, strict=True)
    )
    return torch.cat([*parts], -1)


SOFTMAX = Operator(
    "softmax",
    {
        "ordinary": spread(1.0),
        "hundreds": spread(300.0),
        "ten thousand": spread(1e4),
        "near each other at a million": spread(1.0, 1e6),
        "near each other at minus a million": spread(1.0, -1e6),
        "levels in a row": levels,
        "hidden": hidden,
    },
    limit,
    {
        "torch": lambda scores: scores.softmax(-1),
        "maximum": by_maximum,
        "log-sum-exp": lambda scores: torch.exp(scores - scores.logsumexp(-1, keepdim=True)),
        "logarithms": lambda scores: scores.log_softmax(-1).exp(),
        "powers of two": by_powers_of_two,
        "one by one": one_by_one,
        "two halves": by_halves,
        "backwards": lambda scores: by_maximum(scores.flip(-1)).flip(-1),
    },
    {
        "scores in float16": lambda scores: scores.half().float().softmax(-1),
        "weights in bfloat16": lambda scores: scores.softmax(-1).bfloat16().float(),
    },
)
