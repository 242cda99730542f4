"""Filters as cut-offs with exact book-keeping of ties; Gumbel noise; beams in dictionaries."""

import math
from collections.abc import Callable
from itertools import groupby

import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]
Model = Callable[[Tensor], Tensor]


def _demand(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def temperature(logits: Tensor, t: float) -> Tensor:
    _demand(t > 0, "t must be positive")
    return torch.div(logits.to(torch.float64), t).to(logits.dtype)


def top_k(logits: Tensor, k: int) -> Tensor:
    _demand(k >= 1, "k must be at least one")
    k = min(k, logits.size(1))
    least = logits.topk(k, dim=1).values[:, -1:]
    above, equal = logits > least, logits == least
    room = k - above.sum(1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(1) <= room))
    return logits.masked_fill(~chosen, -math.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    _demand(0 < p <= 1, "p must lie in (0, 1]")
    new = logits.clone()
    if p < 1:
        for row, chances in zip(new, logits.double().softmax(1).tolist(), strict=True):
            falling = sorted(enumerate(row.tolist()), key=lambda item: item[1], reverse=True)
            mass = 0.0
            for _, group in groupby(falling, key=lambda item: item[1]):
                for token, _ in group:  # a stable sort: in order of id
                    if mass >= p:
                        row[token] = -math.inf
                    mass += chances[token]
    return new


def min_p(logits: Tensor, p: float) -> Tensor:
    _demand(0 <= p <= 1, "p must lie in [0, 1]")
    distance = logits.float() - logits.float().amax(1, keepdim=True)
    return logits.masked_fill(~(distance.exp() >= p), -math.inf)


def repetition_penalty(logits: Tensor, history: list[list[int]], penalty: float) -> Tensor:
    pairs = sorted({(b, token) for b, said in enumerate(history) for token in said})
    _demand(all(0 <= token < logits.size(1) for _, token in pairs), "history: unknown id")
    new = logits.float().clone(memory_format=torch.contiguous_format)
    for b, token in pairs:
        x = new[b, token]
        new[b, token] = x / penalty if x > 0 else x * penalty
    return new.to(logits.dtype)


class Sampler:
    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        _demand(not (filters and greedy), "greedy leaves nothing for filters to do")

        def chain(logits: Tensor) -> Tensor:
            for each in filters:
                logits = each(logits)
            return logits

        self._chain = chain
        self._noisy = not greedy

    def __call__(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        scores = self._chain(logits).to(torch.float64)
        if self._noisy:
            uniform = torch.rand(
                scores.shape, dtype=torch.float64, device=scores.device, generator=generator
            )
            scores = scores - (-uniform.log()).log()
        return scores.argmax(dim=1)


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    totals: dict[tuple[int, ...], float] = {(): 0.0}
    scores: dict[tuple[int, ...], float] = {(): 0.0}
    live = [()] if max_new_tokens else []
    while live:
        logits = model(torch.tensor([[*prompt, *beam] for beam in live]))
        steps = logits.double().log_softmax(-1).cpu()
        for beam, row in zip(live, steps.tolist(), strict=True):
            total = totals.pop(beam)
            del scores[beam]
            for token, step in enumerate(row):
                if math.isfinite(step):
                    longer = (*beam, token)
                    totals[longer] = total + step
                    scores[longer] = totals[longer] * len(longer) ** -length_penalty
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:num_beams]
        totals = {beam: totals[beam] for beam in best}
        scores = {beam: scores[beam] for beam in best}
        live = [beam for beam in best if beam[-1] != eos_id and len(beam) < max_new_tokens]
    return [(list(beam), score) for beam, score in scores.items()]
