"""From logits to a token: one law for draws, for guesses and for what judges the guesses.

The filters are those of lab 03, in its order: temperature, top-k, top-p, min-p. The law is
float64, as ``reference/sampling.py`` has it, but found by one sort and not token by token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a request draws its tokens; a temperature of 0 takes the best one.

    ValueError for a number that no filter can mean.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature is {self.temperature}; it must be 0 or more")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}; it must be at least 1")
        for name, share in (("top_p", self.top_p), ("min_p", self.min_p)):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name} is {share}; it must be from 0 to 1")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    def generator(self) -> Generator:
        """Return a source of chance of its own, on the CPU, whatever the device."""
        return torch.Generator().manual_seed(self.seed)

    def law(self, logits: Tensor) -> Tensor:  # [V] -> float64 [V] on the CPU
        """Return the chance of each token; of equal logits the lower id ranks first."""
        row = logits.double().cpu()
        if self.greedy:
            return certain(int(row.argmax()), len(row))
        row = (row - row.amax()) / self.temperature
        if self.top_k is None and self.top_p is None and self.min_p is None:
            return row.softmax(0)
        order = row.argsort(descending=True, stable=True)
        return torch.zeros_like(row).scatter_(0, order, self._filtered(row[order]).softmax(0))

    def _filtered(self, ranked: Tensor) -> Tensor:  # best first, the best is 0
        if self.top_k is not None:
            ranked[self.top_k :] = -math.inf
        if self.top_p is not None and self.top_p < 1:
            masses = ranked.softmax(0).cumsum(0)
            ranked[int((masses < self.top_p).sum()) + 1 :] = -math.inf
        if self.min_p is not None:
            ranked[ranked.exp() < self.min_p] = -math.inf
        return ranked


def certain(token: int, vocab: int) -> Tensor:  # float64 [V]
    """Return the law by which one token is sure."""
    law = torch.zeros(vocab, dtype=torch.float64)
    law[token] = 1.0
    return law


def draw(law: Tensor, generator: Generator) -> int:
    """Draw a token; one without a chance never comes."""
    return int(torch.multinomial(law, 1, generator=generator))


def settle(
    guesses: Sequence[int],
    q: Sequence[Tensor],  # k laws [V], by which the guesses were drawn
    p: Sequence[Tensor],  # k + 1 laws [V] of the target
    generator: Generator,
) -> list[int]:
    """Return the guesses that stay and the token behind them, arXiv:2211.17192.

    What comes out is distributed as if the target had drawn each token itself.
    """
    for i, token in enumerate(guesses):
        # Not "<=": a guess without a chance must not stay when the draw is 0.
        if float(torch.rand((), generator=generator)) * q[i][token] < p[i][token]:
            continue
        rest = (p[i] - q[i]).clamp(min=0)
        # Of equal laws rounding alone can reject, and nothing is left over.
        law = rest if float(rest.sum()) > 0 else p[i]
        return [*guesses[:i], draw(law, generator)]
    return [*guesses, draw(p[len(guesses)], generator)]
