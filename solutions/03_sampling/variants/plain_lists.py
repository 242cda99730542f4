"""Plain Python: rows are lists, tokens go one by one, and each beam asks the model by itself."""

import heapq
import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]
Model = Callable[[Tensor], Tensor]


def temperature(logits: Tensor, t: float) -> Tensor:
    if t <= 0:
        raise ValueError("t has to be positive")
    rows = [[x / t for x in row] for row in logits.tolist()]
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device)


def _keep(logits: Tensor, choose: Callable[[list[float]], set[int]]) -> Tensor:
    new = torch.full_like(logits, -math.inf)
    for old_row, new_row in zip(logits, new, strict=True):
        for token in choose(old_row.tolist()):
            new_row[token] = old_row[token]
    return new


def _chances(row: list[float]) -> list[float]:
    top = max(row)
    weights = [math.exp(x - top) for x in row]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def top_k(logits: Tensor, k: int) -> Tensor:
    if k <= 0:
        raise ValueError("k has to be positive")
    return _keep(logits, lambda row: set(heapq.nsmallest(k, range(len(row)), key=_key(row))))


def _key(row: list[float]) -> Callable[[int], tuple[float, int]]:
    return lambda token: (-row[token], token)


def top_p(logits: Tensor, p: float) -> Tensor:
    if p <= 0 or p > 1:
        raise ValueError("p has to be in (0, 1]")

    def choose(row: list[float]) -> set[int]:
        chances, mass, chosen = _chances(row), 0.0, set()
        for token in sorted(range(len(row)), key=_key(row)):
            if mass >= p and p != 1:
                break
            chosen.add(token)
            mass += chances[token]
        return chosen

    return _keep(logits, choose)


def min_p(logits: Tensor, p: float) -> Tensor:
    if p < 0 or p > 1:
        raise ValueError("p has to be in [0, 1]")

    def choose(row: list[float]) -> set[int]:
        top = max(row)
        return {token for token, x in enumerate(row) if math.exp(x - top) >= p}

    return _keep(logits, choose)


def repetition_penalty(logits: Tensor, history: list[list[int]], penalty: float) -> Tensor:
    rows = logits.tolist()
    for row, said in zip(rows, history, strict=True):
        for token in set(said):
            if not 0 <= token < len(row):
                raise ValueError(f"history: there is no token {token}")
            row[token] *= penalty if row[token] < 0 else 1 / penalty
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device)


class Sampler:
    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        if greedy and len(filters) > 0:
            raise ValueError("a greedy sampler takes no filters")
        self.steps = list(filters)
        self.greedy = greedy

    def __call__(self, logits: Tensor, generator: Generator | None = None) -> Tensor:
        if self.greedy:
            best = [max(range(len(row)), key=row.__getitem__) for row in logits.tolist()]
            return torch.tensor(best, device=logits.device)
        for step in self.steps:
            logits = step(logits)
        # The arrival that comes first among exponential waiting times of rate p is drawn with p.
        rates = logits.double().softmax(-1)
        waits = torch.empty_like(rates).exponential_(generator=generator)
        return (rates / waits).argmax(-1)


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    def score(beam: tuple[list[int], float]) -> float:
        tokens, total = beam
        return total / len(tokens) ** length_penalty if tokens else 0.0

    beams: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(max_new_tokens):
        pool = []
        for tokens, total in beams:
            if eos_id in tokens:
                pool.append((tokens, total))
                continue
            row = model(torch.tensor([prompt + tokens]))[0].double().tolist()
            top = max(row)
            norm = top + math.log(sum(math.exp(x - top) for x in row))
            for token, x in enumerate(row):
                if x > -math.inf:
                    pool.append(([*tokens, token], total + x - norm))
        beams = heapq.nlargest(num_beams, pool, key=score)
        if all(eos_id in tokens for tokens, _ in beams):
            break
    return [(tokens, score((tokens, total))) for tokens, total in beams]
