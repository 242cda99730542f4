"""Sums and random numbers have the precision of the logits: few tokens can come.

Fails: sampler
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import torch
from torch import Generator, Tensor

Filter = Callable[[Tensor], Tensor]  # logits [B, V] -> new logits [B, V]
Model = Callable[[Tensor], Tensor]  # tokens [B, T] -> logits [B, V] of the token that comes next


def temperature(
    logits: Tensor,  # [B, V]
    t: float,  # > 0, else ValueError
) -> Tensor:  # [B, V]
    """Divide by t: below 1 sharpens the distribution, above 1 flattens it."""
    if not t > 0:
        raise ValueError(f"t must be above 0, not {t}")
    return (logits.float() / t).to(logits.dtype)


def top_k(
    logits: Tensor,  # [B, V]
    k: int,  # >= 1, else ValueError; k >= V keeps all
) -> Tensor:  # [B, V]
    """Keep exactly the k largest logits of each row; of equal ones, those with the lower id."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    order = _ranking(logits)
    return _remove(logits, order, torch.arange(logits.shape[1], device=logits.device) >= k)


def top_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 < p <= 1, else ValueError
) -> Tensor:  # [B, V]
    """Keep the smallest set of tokens whose probabilities add up to p or more.

    The token that crosses p belongs to it; of equal logits the lower id goes first.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, not {p}")
    order = _ranking(logits)
    ranked = logits.float().softmax(-1).gather(-1, order)
    # A token goes if those in front of it reach p without it. Rounding may let the sum reach 1
    # before the last token, but p = 1 means all of them.
    in_front = ranked.cumsum(-1) - ranked
    return _remove(logits, order, (in_front >= p) & (p < 1))


def _ranking(logits: Tensor) -> Tensor:  # [B, V] -> ids [B, V], the best first
    """Rank the tokens of each row; only a stable sort leaves equal logits in order of id."""
    return logits.sort(dim=-1, descending=True, stable=True).indices


def _remove(logits: Tensor, order: Tensor, by_rank: Tensor) -> Tensor:
    """Remove tokens by their rank: ``by_rank`` [V] or [B, V] goes back to the ids' own places."""
    removed = torch.zeros_like(order, dtype=torch.bool)
    removed.scatter_(-1, order, by_rank.expand_as(order))
    return logits.masked_fill(removed, -inf)


def min_p(
    logits: Tensor,  # [B, V]
    p: float,  # 0 <= p <= 1, else ValueError
) -> Tensor:  # [B, V]
    """Keep the tokens that are at least p times as probable as the most probable one."""
    if not 0 <= p <= 1:
        raise ValueError(f"p must be between 0 and 1, not {p}")
    probabilities = logits.float().softmax(-1)
    best = probabilities.amax(-1, keepdim=True)
    return logits.masked_fill(probabilities < p * best, -inf)


def repetition_penalty(
    logits: Tensor,  # [B, V]
    history: list[list[int]],  # B lists of ids below V, else ValueError; may be empty
    penalty: float,  # > 1 discourages what has been said
) -> Tensor:  # [B, V]
    """Divide the positive logits of each row's history by penalty, multiply the negative ones.

    Once for each id, however often it was said: as in Hugging Face.
    """
    vocab = logits.shape[1]
    if any(not 0 <= token < vocab for tokens in history for token in tokens):
        raise ValueError(f"history holds an id outside the vocabulary of {vocab}")
    said = torch.zeros_like(logits, dtype=torch.bool)
    for row, tokens in zip(said, history, strict=True):
        row[tokens] = True
    scores = logits.float()
    # Towards less likely on either side of 0: dividing a negative logit would raise it.
    penalized = torch.where(scores < 0, scores * penalty, scores / penalty)
    return torch.where(said, penalized, scores).to(logits.dtype)


class Sampler:
    """Logits in, one token per row out."""

    def __init__(self, *filters: Filter, greedy: bool = False) -> None:
        if greedy and filters:
            raise ValueError("greedy takes the largest logit: filters would change nothing")
        self.filters = filters
        self.greedy = greedy

    def __call__(
        self,
        logits: Tensor,  # [B, V]
        generator: Generator | None = None,  # None: torch's global one
    ) -> Tensor:  # int64 [B]
        """Draw one token per row, each row on its own, from the softmax of the filtered logits."""
        if self.greedy:
            return logits.argmax(-1)
        for filter_ in self.filters:
            logits = filter_(logits)
        heights = logits.softmax(-1).cumsum(-1)
        levels = torch.rand(
            len(logits), 1, generator=generator, dtype=logits.dtype, device=logits.device
        )
        ids = torch.searchsorted(heights, levels * heights[:, -1:], right=True)[:, 0]
        return ids.clamp(max=logits.shape[1] - 1)


@dataclass(frozen=True, slots=True)
class _Beam:
    tokens: list[int]
    log_probability: float
    score: float
    ended: bool


def beam_search(
    model: Model,
    prompt: list[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:  # (new tokens with EOS, score), the best first
    """Search for the new tokens of the best score: sum of log-probabilities / len ** penalty.

    Finished beams keep slot and score. No beam of probability 0 is kept.
    """
    # One beam, not num_beams copies: copies would find the same continuations.
    beams = [_Beam([], 0.0, 0.0, ended=False)]
    for length in range(1, max_new_tokens + 1):
        live = [beam for beam in beams if not beam.ended]
        if not live:
            break
        logits = model(torch.tensor([prompt + beam.tokens for beam in live]))
        # Extensions of one beam are equally long: more than its num_beams best never survive.
        steps, ids = logits.float().log_softmax(-1).topk(min(num_beams, logits.shape[-1]))
        found = [beam for beam in beams if beam.ended]
        for beam, more, tokens in zip(live, steps.tolist(), ids.tolist(), strict=True):
            for step, token in zip(more, tokens, strict=True):
                total = beam.log_probability + step
                score = total / length**length_penalty
                found.append(_Beam([*beam.tokens, token], total, score, token == eos_id))
        possible = [beam for beam in found if beam.log_probability > -inf]
        beams = sorted(possible, key=lambda beam: beam.score, reverse=True)[:num_beams]
    return [(beam.tokens, beam.score) for beam in beams]
