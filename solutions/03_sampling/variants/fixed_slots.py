"""Tensors throughout: ranks by comparing all pairs, draws by inverting the distribution function,
and beams in num_beams slots of which the unused ones start at -inf."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]
Model = Callable[[Tensor], Tensor]


def temperature(logits: Tensor, t: float) -> Tensor:
    if not t > 0:
        raise ValueError(f"temperature: t = {t}")
    return logits.float().mul(1 / t).to(logits.dtype)


def _rank(row: Tensor) -> Tensor:
    """For each token of a row, how many go before it."""
    larger = row[None, :] > row[:, None]
    equal_before = (row[None, :] == row[:, None]).tril(-1)
    return (larger | equal_before).sum(-1)


def top_k(logits: Tensor, k: int) -> Tensor:
    if not k >= 1:
        raise ValueError(f"top_k: k = {k}")
    ranks = torch.stack([_rank(row) for row in logits])
    return torch.where(ranks < k, logits, torch.full_like(logits, -math.inf))


def top_p(logits: Tensor, p: float) -> Tensor:
    if not 0 < p <= 1:
        raise ValueError(f"top_p: p = {p}")
    if p == 1:
        return logits.clone()
    probabilities = logits.double().softmax(-1)
    new = torch.full_like(logits, -math.inf)
    for b, row in enumerate(probabilities):
        order = _rank(logits[b]).argsort()
        size = int((row[order].cumsum(0) < p).sum()) + 1
        chosen = order[:size]
        new[b, chosen] = logits[b, chosen]
    return new


def min_p(logits: Tensor, p: float) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"min_p: p = {p}")
    x = logits.float()
    bar = x.max(dim=-1, keepdim=True).values + torch.tensor(float(p)).log().to(x.device)
    return torch.where(x < bar, torch.full_like(logits, -math.inf), logits)


def repetition_penalty(logits: Tensor, history: list[list[int]], penalty: float) -> Tensor:
    new = logits.clone()
    for b, said in enumerate(history):
        if not said:
            continue
        if min(said) < 0 or max(said) >= logits.shape[-1]:
            raise ValueError("history holds an unknown token")
        ids = torch.tensor(sorted(set(said)), device=logits.device)
        x = logits[b, ids].float()
        new[b, ids] = torch.where(x > 0, x / penalty, x * penalty).to(logits.dtype)
    return new


class Sampler:
    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        if greedy and filters:
            raise ValueError("greedy and filters exclude each other")
        self.filters, self.greedy = filters, greedy

    def __call__(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        if self.greedy:
            return logits.max(dim=-1).indices
        for each in self.filters:
            logits = each(logits)
        heights = logits.double().softmax(-1).cumsum(-1)
        size = (len(heights), 1)
        levels = torch.rand(size, generator=generator, dtype=heights.dtype, device=heights.device)
        # Scaled by the last height, a level lies below it whatever was rounded.
        return torch.searchsorted(heights, levels * heights[:, -1:], right=True)[:, 0]


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    if max_new_tokens == 0:
        return [([], 0.0)]
    rows = torch.tensor([prompt]).repeat(num_beams, 1)
    totals = torch.full((num_beams,), -math.inf, dtype=torch.float64)
    totals[0] = 0.0
    lengths = torch.zeros(num_beams, dtype=torch.int64)
    ended = torch.zeros(num_beams, dtype=torch.bool)
    for _ in range(max_new_tokens):
        steps = model(rows).cpu().double().log_softmax(-1)
        vocab = steps.shape[-1]
        # A finished beam has one continuation, which costs nothing: EOS once more.
        steps[ended] = -math.inf
        steps[ended, eos_id] = 0.0
        sums = totals[:, None] + steps
        lengths = lengths + (~ended).long()
        scores = (sums / lengths[:, None].double() ** length_penalty).flatten()
        order = scores.sort(descending=True, stable=True).indices
        best = torch.cat([order, order[:1].expand(num_beams)])[:num_beams]
        parents, tokens = best // vocab, best % vocab
        totals = sums.flatten()[best]
        totals[len(order) :] = -math.inf  # fewer extensions than slots
        rows = torch.cat([rows[parents], tokens[:, None]], dim=1)
        lengths, ended = lengths[parents], ended[parents] | (tokens == eos_id)
        if bool((ended | totals.isinf()).all()):
            break
    scores = totals / lengths.double() ** length_penalty
    found = []
    for b in scores.sort(descending=True).indices.tolist():
        if totals[b] > -math.inf:
            new = rows[b, len(prompt) :].tolist()
            found.append((new[: int(lengths[b])], scores[b].item()))
    return found
