"""Oracle of lab 10: what a guess becomes, as laws that are counted out case by case."""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import cast

import torch

from reference.scripted.reader import Rows


def acceptance(p: Sequence[float], q: Sequence[float], token: int) -> float:
    """Return the chance that a guess drawn from q stays."""
    return min(1.0, p[token] / q[token])


def residual(p: Sequence[float], q: Sequence[float]) -> list[float]:
    """Return the law of what replaces a rejected guess; p where p and q are one."""
    rest = [max(0.0, x - y) for x, y in zip(p, q, strict=True)]
    total = math.fsum(rest)
    return [x / total for x in rest] if total else list(p)


def outcomes(
    draft: Sequence[int],
    q: Sequence[Sequence[float]],  # [k][V], rows add up to 1
    p: Sequence[Sequence[float]],  # [k+1][V]
) -> dict[tuple[int, ...], float]:
    """Return the chance of every list that may be emitted for these guesses."""
    law: dict[tuple[int, ...], float] = {}
    reached = 1.0
    for i, token in enumerate(draft):
        stays = acceptance(p[i], q[i], token)
        for other, chance in enumerate(residual(p[i], q[i])):
            law[(*draft[:i], other)] = reached * (1 - stays) * chance
        reached *= stays
    for bonus, chance in enumerate(p[len(draft)]):
        law[(*draft, bonus)] = reached * chance
    return {emitted: chance for emitted, chance in law.items() if chance > 0}


def texts(
    rows: Rows, temperature: float, prompt: Sequence[int], count: int, eos_ids: Collection[int]
) -> dict[tuple[int, ...], float]:
    """Return the chance of every text, without its EOS, that a model alone may write."""
    law: dict[tuple[int, ...], float] = {}
    open_texts: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(count):
        behind: dict[tuple[int, ...], float] = {}
        for text, reached in open_texts.items():
            logits = torch.tensor(rows([*prompt, *text]), dtype=torch.float64)
            shares = cast(list[float], (logits / temperature).softmax(0).tolist())
            law[text] = reached * math.fsum(shares[token] for token in eos_ids)
            for token in set(range(len(shares))) - set(eos_ids):
                behind[(*text, token)] = reached * shares[token]
        open_texts = behind
    law |= open_texts
    return {text: chance for text, chance in law.items() if chance > 0}


def speedup(acceptance: float, k: int, cost_ratio: float) -> float:
    """Return tokens per target call, outcome by outcome, over what a round costs."""
    a = Fraction(acceptance)
    tokens = sum((a**i * (1 - a) * (i + 1) for i in range(k)), a**k * (k + 1))
    return float(tokens / (1 + k * Fraction(cost_ratio)))
