"""numpy does the arithmetic: lexsort ranks, and the draw compares a level with the sums so far."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]
Model = Callable[[Tensor], Tensor]


def _numbers(logits: Tensor) -> np.ndarray:
    return logits.detach().cpu().to(torch.float64).numpy()


def _softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _order(x: np.ndarray) -> np.ndarray:
    return np.argsort(-x, axis=-1, kind="stable")


def _without(logits: Tensor, gone: np.ndarray) -> Tensor:
    return logits.masked_fill(torch.from_numpy(gone).to(logits.device), float("-inf"))


def temperature(logits: Tensor, t: float) -> Tensor:
    if t <= 0:
        raise ValueError("t must be above zero")
    return torch.from_numpy(_numbers(logits) / t).to(logits.device, logits.dtype)


def top_k(logits: Tensor, k: int) -> Tensor:
    if k < 1:
        raise ValueError("k must be one or more")
    gone = np.ones(logits.shape, dtype=bool)
    np.put_along_axis(gone, _order(_numbers(logits))[:, :k], False, axis=-1)
    return _without(logits, gone)


def top_p(logits: Tensor, p: float) -> Tensor:
    if p <= 0 or p > 1:
        raise ValueError("p must be above zero and not above one")
    x = _numbers(logits)
    gone = np.zeros(x.shape, dtype=bool)
    if p < 1:
        order = _order(x)
        sums = np.cumsum(np.take_along_axis(_softmax(x), order, axis=-1), axis=-1)
        reached = np.concatenate([np.zeros((len(x), 1), dtype=bool), sums[:, :-1] >= p], axis=-1)
        np.put_along_axis(gone, order, reached, axis=-1)
    return _without(logits, gone)


def min_p(logits: Tensor, p: float) -> Tensor:
    if p < 0 or p > 1:
        raise ValueError("p must be from zero to one")
    chances = _softmax(_numbers(logits))
    return _without(logits, chances < p * chances.max(axis=-1, keepdims=True))


def repetition_penalty(logits: Tensor, history: list[list[int]], penalty: float) -> Tensor:
    x = _numbers(logits).copy()
    for row, said in zip(x, history, strict=True):
        ids = np.unique(np.asarray(said, dtype=np.int64))
        if ((ids < 0) | (ids >= len(row))).any():
            raise ValueError("history has an id that is no token")
        row[ids] = np.where(row[ids] < 0, row[ids] * penalty, row[ids] / penalty)
    return torch.from_numpy(x).to(logits.device, logits.dtype)


class Sampler:
    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        if filters and greedy:
            raise ValueError("greedy: no filters, please")
        self.filters = filters
        self.greedy = greedy

    def __call__(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        if self.greedy:
            return torch.from_numpy(_numbers(logits).argmax(axis=-1)).to(logits.device)
        for each in self.filters:
            logits = each(logits)
        sums = _softmax(_numbers(logits)).cumsum(axis=-1)
        device = generator.device if generator is not None else "cpu"
        levels = torch.rand(len(sums), dtype=torch.float64, generator=generator, device=device)
        below = sums <= levels.cpu().numpy()[:, None] * sums[:, -1:]
        return torch.from_numpy(below.sum(axis=-1)).to(logits.device)


class Beam(NamedTuple):
    score: float
    total: float
    tokens: list[int]

    def extended(self, token: int, step: float, length_penalty: float) -> "Beam":
        total, tokens = self.total + step, [*self.tokens, token]
        return Beam(total / len(tokens) ** length_penalty, total, tokens)


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    finished: list[Beam] = []
    live = [Beam(0.0, 0.0, [])]
    for _ in range(max_new_tokens):
        tokens = np.array([prompt + beam.tokens for beam in live], dtype=np.int64)
        with np.errstate(divide="ignore"):
            x = _numbers(model(torch.from_numpy(tokens)))
            top = x.max(axis=-1, keepdims=True)
            steps = x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True))
        longer = [
            beam.extended(int(token), float(row[token]), length_penalty)
            for beam, row in zip(live, steps, strict=True)
            for token in np.flatnonzero(row > -np.inf)
        ]
        best = sorted(finished + longer, reverse=True)[:num_beams]
        finished = [beam for beam in best if beam.tokens[-1] == eos_id]
        live = [beam for beam in best if beam.tokens[-1] != eos_id]
        if not live:
            break
    return [(beam.tokens, beam.score) for beam in sorted(finished + live, reverse=True)]
