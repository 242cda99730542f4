"""Draws a token even if max_new_tokens is 0.

Fails: generate
"""

from collections.abc import Collection
from typing import Protocol

import torch
from torch import Generator, Tensor


class _Model(Protocol):
    length: int  # tokens in the cache

    def forward(self, tokens: list[int]) -> Tensor: ...  # adds T tokens -> logits [T, V]
    def rewind(self, n: int) -> None: ...  # drops the last n tokens


def accept_greedy(
    draft: list[int],
    target_logits: Tensor,  # [k+1, V]
) -> list[int]:
    best = target_logits.argmax(-1).tolist()
    agreed = _common(draft, best)
    return best[: agreed + 1]


def accept_sample(
    draft: list[int],
    draft_probs: Tensor,  # [k, V]
    target_probs: Tensor,  # [k+1, V]
    generator: Generator | None,
) -> list[int]:
    for i, token in enumerate(draft):
        p, q = target_probs[i], draft_probs[i]
        # What accepted guesses leave uncovered of p: with it they add up to p again. If it is
        # nothing p and q are one, and only rounding could reject.
        rest = (p - q).clamp(min=0)
        if _uniform(generator) * q[token] >= p[token] and rest.any():
            return [*draft[:i], _draw(rest, generator)]
    return [*draft, _draw(target_probs[len(draft)], generator)]


def _uniform(generator: Generator | None) -> float:
    return float(
        torch.rand((), generator=generator, device=generator.device if generator else "cpu")
    )


def _draw(weights: Tensor, generator: Generator | None) -> int:  # [V], any sum
    device = generator.device if generator else weights.device
    return int(torch.multinomial(weights.to(device), 1, generator=generator))


def _common(a: list[int], b: list[int]) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def speculative_generate(
    target: _Model,
    draft: _Model,
    prompt: list[int],
    k: int,
    max_new_tokens: int,
    eos_ids: Collection[int],
    temperature: float = 0.0,
    generator: Generator | None = None,
) -> tuple[list[int], dict[str, int]]:
    text, end = list(prompt), len(prompt) + max_new_tokens
    stats = {"target_calls": 0, "drafted": 0, "accepted": 0}
    ended = False
    while (len(text) < end or (temperature and len(text) == len(prompt))) and not ended:
        # The round adds a token of the target's own, so one guess less than there is room.
        room = max(0, min(k, end - len(text) - 1))
        guess, chances = _guess(draft, text, room, temperature, generator)
        logits = _read(target, text + guess)[-len(guess) - 1 :]
        if temperature == 0:
            new = accept_greedy(guess, logits)
        else:
            probs = _chances(logits, temperature)
            new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator)
        before_eos = next((i for i, token in enumerate(new) if token in eos_ids), len(new))
        ended = before_eos < len(new)
        new = new[:before_eos]
        accepted = _common(guess, new)
        stats["target_calls"] += 1
        stats["drafted"] += len(guess)
        stats["accepted"] += accepted
        for model in (target, draft):
            model.rewind(max(0, model.length - len(text) - accepted))
        text += new
    return text[len(prompt) :], stats


def _chances(logits: Tensor, temperature: float) -> Tensor:  # [..., V] -> [..., V]
    return (logits.float() / temperature).softmax(-1)


def _read(model: _Model, text: list[int]) -> Tensor:
    return model.forward(text[model.length :])


def _guess(
    model: _Model, text: list[int], k: int, temperature: float, generator: Generator | None
) -> tuple[list[int], list[Tensor]]:
    guess: list[int] = []
    chances: list[Tensor] = []
    for _ in range(k):
        logits = _read(model, text + guess)[-1]
        if temperature == 0:
            guess.append(int(logits.argmax()))
        else:
            chances.append(_chances(logits, temperature))
            guess.append(_draw(chances[-1], generator))
    return guess, chances


def expected_speedup(acceptance: float, k: int, cost_ratio: float) -> float:
    # At least i guesses are accepted with probability acceptance ** i; the sum is right at 1 too.
    tokens = sum(acceptance**i for i in range(k + 1))
    return tokens / (k * cost_ratio + 1)
