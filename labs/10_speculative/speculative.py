"""Lab 10: guess, verify, keep the distribution.

Letters: k guesses of a round, V vocabulary, T tokens that enter a model in one call. Work from top
to bottom: ``speculative_generate`` is a loop around the first two functions.
"""

from collections.abc import Collection
from typing import Protocol

from torch import Generator, Tensor


class _Model(Protocol):
    """What target and draft can do; both caches are empty when you get them."""

    length: int  # tokens in the cache

    def forward(self, tokens: list[int]) -> Tensor:  # [T, V]
        """Add T tokens to the cache; return the logits behind each of them."""
        ...

    def rewind(self, n: int) -> None:
        """Drop the last n tokens of the cache."""
        ...


# --- Task 1: greedy --------------------------------------------------------------------------


def accept_greedy(
    draft: list[int],  # k guesses, k >= 0
    target_logits: Tensor,  # [k+1, V]: row i is the target's answer in front of guess i
) -> list[int]:  # the tokens to emit, 1 to k+1
    """Return the guesses that the target agrees with, and its own token after them."""
    raise NotImplementedError("greedy: accept_greedy")


# --- Task 2: sample --------------------------------------------------------------------------


def accept_sample(
    draft: list[int],  # k guesses, k >= 0; guess i was drawn from draft_probs[i]
    draft_probs: Tensor,  # float32 [k, V], each row adds up to 1 but for rounding
    target_probs: Tensor,  # float32 [k+1, V]
    generator: Generator | None,  # of the tensors' device; None: torch's global one
) -> list[int]:  # the tokens to emit, 1 to k+1
    """Accept guesses, replace the first that is rejected, or add a token after the last.

    Guess x stays with probability min(1, p(x) / q(x)), p the target's and q the draft's.
    """
    raise NotImplementedError("sample: accept_sample")


# --- Task 3: generate ------------------------------------------------------------------------


def speculative_generate(
    target: _Model,
    draft: _Model,
    prompt: list[int],  # at least one token
    k: int,  # guesses a round, >= 0; 0 is decoding without a draft
    max_new_tokens: int,
    eos_ids: Collection[int],  # any of them ends the text
    temperature: float = 0.0,  # of both models; 0 takes the best token
    generator: Generator | None = None,  # of the device of the models' logits
) -> tuple[list[int], dict[str, int]]:  # the new tokens, no prompt and no EOS; the statistics
    """Continue the prompt as the target alone would, in fewer calls of it.

    The statistics are "target_calls", "drafted" and "accepted".
    """
    raise NotImplementedError("generate: speculative_generate")


# --- Task 4: speedup -------------------------------------------------------------------------


def expected_speedup(
    acceptance: float,  # chance that a guess is accepted, 0 to 1, both included
    k: int,  # guesses a round, >= 0
    cost_ratio: float,  # seconds of a draft call / seconds of a target call, >= 0
) -> float:
    """Return tokens per second with speculation / without (Leviathan et al., 2023)."""
    raise NotImplementedError("speedup: expected_speedup")
