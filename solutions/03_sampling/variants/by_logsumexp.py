"""Probabilities as exp(s - logsumexp(s)); sums from the least token up; draws walk along sums."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]
Model = Callable[[Tensor], Tensor]


def _chances(logits: Tensor) -> Tensor:
    scores = logits.float()
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


def temperature(logits: Tensor, t: float) -> Tensor:
    if t <= 0:
        raise ValueError("t: a temperature is positive")
    return (logits.float() * (1 / t)).to(logits.dtype)


def _best_first(logits: Tensor) -> Tensor:
    return torch.argsort(-logits.double(), dim=1, stable=True)


def top_k(logits: Tensor, k: int) -> Tensor:
    if k <= 0:
        raise ValueError("k: one token has to stay")
    gone = _best_first(logits)[:, k:]
    return logits.clone().scatter_(1, gone, -math.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    if not (p > 0 and p <= 1):
        raise ValueError("p: a share above 0, and at most 1")
    if p == 1:
        return logits.clone()
    order = _best_first(logits)
    falling = _chances(logits).gather(1, order).double()
    # What a token and all behind it hold; the best one stays whatever the sums come to.
    behind = falling.flip(1).cumsum(1).flip(1)
    goes = behind <= falling.sum(1, keepdim=True) * (1 - p)
    goes[:, 0] = False
    return torch.where(torch.zeros_like(goes).scatter(1, order, goes), -math.inf, logits)


def min_p(logits: Tensor, p: float) -> Tensor:
    if not (p >= 0 and p <= 1):
        raise ValueError("p: a share of the best one, 0 to 1")
    if p == 0:
        return logits.clone()
    scores = logits.double()
    least = scores.max(1, keepdim=True).values + math.log(p)
    return logits.masked_fill(scores < least, -math.inf)


def repetition_penalty(logits: Tensor, history: list[list[int]], penalty: float) -> Tensor:
    new = logits.double().clone()
    for row, tokens in zip(new, history, strict=True):
        ids = torch.tensor(sorted(set(tokens)), dtype=torch.long, device=logits.device)
        if len(ids) and (ids[0] < 0 or ids[-1] >= len(row)):
            raise ValueError("history: ids are those of the vocabulary")
        said = row[ids]
        row[ids] = torch.where(said > 0, said / penalty, said * penalty)
    return new.to(logits.dtype)


class Sampler:
    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        if filters and greedy:
            raise ValueError("filters have nothing to do in a greedy sampler")
        self.filters, self.greedy = filters, greedy

    def __call__(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        if self.greedy:
            return logits.max(dim=1).indices
        for each in self.filters:
            logits = each(logits)
        sums = _chances(logits).double().cumsum(1)
        where = generator.device if generator else logits.device
        spots = torch.rand(len(sums), 1, dtype=torch.float64, generator=generator, device=where)
        return torch.searchsorted(sums, spots.to(sums.device) * sums[:, -1:], right=True)[:, 0]


class Beam(NamedTuple):
    score: float
    tokens: tuple[int, ...]
    total: float


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    beams = [Beam(0.0, (), 0.0)]
    for step in range(max_new_tokens):
        live = [beam for beam in beams if eos_id not in beam.tokens]
        if not live:
            break
        scores = model(torch.tensor([prompt + list(beam.tokens) for beam in live])).double()
        logs = scores - scores.logsumexp(1, keepdim=True)
        pool = [beam for beam in beams if eos_id in beam.tokens]
        for beam, row in zip(live, logs.tolist(), strict=True):
            for token, log in enumerate(row):
                if log != -math.inf:
                    total = beam.total + log
                    score = total / (step + 1) ** length_penalty
                    pool.append(Beam(score, (*beam.tokens, token), total))
        beams = sorted(pool, reverse=True)[:num_beams]
    return [(list(beam.tokens), beam.score) for beam in beams]
