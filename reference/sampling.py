"""Oracle for lab 03: which tokens stay, decided one by one in float64, and a judge of draws."""

import math
from collections.abc import Collection, Sequence
from itertools import accumulate

import torch
from torch import Tensor

# --- filters ---------------------------------------------------------------------------------


def ranking(row: Sequence[float]) -> list[int]:
    """Return the ids from the best to the worst; of equal logits the lower id comes first."""
    return sorted(range(len(row)), key=lambda token: (-row[token], token))


def probabilities(row: Sequence[float]) -> list[float]:
    """Return the softmax of a row with at least one finite logit."""
    largest = max(row)
    weights = [math.exp(logit - largest) for logit in row]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def masses(row: Sequence[float]) -> list[float]:
    """Return how much probability the best 1, 2, ... V tokens hold together."""
    chances, order = probabilities(row), ranking(row)
    return list(accumulate(chances[token] for token in order))


def shares(row: Sequence[float]) -> list[float]:
    """Return how probable each token is, as a share of the best one."""
    best = max(row)
    return [math.exp(logit - best) for logit in row]


def kept_by_top_k(row: Sequence[float], k: int) -> set[int]:
    """Return the k best ids."""
    return set(ranking(row)[:k])


def kept_by_top_p(row: Sequence[float], p: float) -> set[int]:
    """Return the fewest best ids that hold p or more; for p = 1 that is every one."""
    order = ranking(row)
    enough = (i + 1 for i, mass in enumerate(masses(row)) if mass >= p and p < 1)
    return set(order[: next(enough, len(row))])


def kept_by_min_p(row: Sequence[float], p: float) -> set[int]:
    """Return the ids at least p times as probable as the best; equal logits are exactly equal."""
    return {i for i, share in enumerate(shares(row)) if share >= p}


def keep(logits: Tensor, kept: Sequence[Collection[int]]) -> Tensor:  # [B, V], B sets -> [B, V]
    """Return a copy in which all but the kept ids of each row are -inf."""
    new = torch.full(logits.shape, -math.inf, dtype=logits.dtype)
    for b, tokens in enumerate(kept):
        for token in tokens:
            new[b, token] = logits[b, token]
    return new


def repetition_penalty(
    logits: Tensor,  # float64 [B, V]
    history: Sequence[Sequence[int]],
    penalty: float,
) -> Tensor:  # float64 [B, V]
    """Move each logit whose id was said towards less likely, once."""
    new = logits.clone()
    for b, tokens in enumerate(history):
        for token in set(tokens):
            logit = float(logits[b, token])
            new[b, token] = logit * penalty if logit < 0 else logit / penalty
    return new


# --- draws -----------------------------------------------------------------------------------


def chi_square_p(counts: Sequence[int], chances: Sequence[float]) -> float:
    """Return how probable counts at least this unlikely are; 0 if the impossible was counted.

    Pearson's statistic and its asymptotic distribution: let each cell expect 20 counts or more.
    """
    if any(count and not chance for count, chance in zip(counts, chances, strict=True)):
        return 0.0
    total = sum(counts)
    cells = [(n, total * q) for n, q in zip(counts, chances, strict=True) if q]
    if len(cells) == 1:
        return 1.0
    statistic = math.fsum((n - mean) ** 2 / mean for n, mean in cells)
    half = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def furthest(counts: Sequence[int], chances: Sequence[float], floor: float = 1e-9) -> int:
    """Return which count is furthest off by its part of Pearson's statistic.

    ``floor`` is added to each expected count, so that one far below it weighs little.
    """
    means = [sum(counts) * chance for chance in chances]
    off = [(n - mean) ** 2 / (mean + floor) for n, mean in zip(counts, means, strict=True)]
    return off.index(max(off))
