"""Who guesses what the model will say: a smaller model, or the text itself.

A guesser returns guesses and the laws they were drawn by; ``sampling.settle`` makes any of them
right, and a bad one only costs time.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Generator, Tensor

from reference.engine.runner import Runner
from reference.engine.sampling import Sampling, certain, draw

Guesses = tuple[list[int], list[Tensor]]  # tokens, and the law [V] of each


class Guesser(Protocol):
    """What the engine asks; ``count`` is how many guesses it makes a round at most."""

    count: int

    def guess(
        self, slot: int, text: Sequence[int], count: int, sampling: Sampling, generator: Generator
    ) -> Guesses:
        """Guess at most ``count`` tokens behind a text, of which the cache may hold a part."""
        ...

    def forget(self, slot: int) -> None:
        """Let another text use the slot."""
        ...


class Lookup:
    """Says what followed when the last tokens of the text stood there before."""

    def __init__(self, count: int, vocab: int, longest: int = 3) -> None:
        self.count = checked(count)
        self._vocab, self._longest = vocab, longest
        self._indexes: dict[int, Index] = {}  # by slot

    def guess(
        self, slot: int, text: Sequence[int], count: int, sampling: Sampling, generator: Generator
    ) -> Guesses:
        index = self._indexes.setdefault(slot, Index(self._longest))
        index.read(text)
        found = index.follow(text)[:count]
        return found, [certain(token, self._vocab) for token in found]

    def forget(self, slot: int) -> None:
        self._indexes.pop(slot, None)


class Index:
    """Where the runs of 1 to ``longest`` tokens of a growing text ended last."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._ends: dict[tuple[int, ...], int] = {}
        self._read = 0

    def read(self, text: Sequence[int]) -> None:
        """Note all runs but those that end the text: these are asked for."""
        for end in range(self._read + 1, len(text)):
            for size in range(1, min(self._longest, end) + 1):
                self._ends[tuple(text[end - size : end])] = end
        self._read = max(self._read, len(text) - 1)

    def follow(self, text: Sequence[int]) -> list[int]:
        """Return what followed the latest earlier place of the longest ending that has one."""
        for size in range(min(self._longest, len(text)), 0, -1):
            end = self._ends.get(tuple(text[-size:]))
            if end is not None:
                return list(text[end:])
        return []


class Draft:
    """A smaller model with slots of its own, one for each of the target's."""

    def __init__(self, runner: Runner, count: int) -> None:
        self.count = checked(count)
        self._runner = runner
        self._held: dict[int, list[int]] = {}  # by slot: the tokens in its cache

    def guess(
        self, slot: int, text: Sequence[int], count: int, sampling: Sampling, generator: Generator
    ) -> Guesses:
        whole = list(text)
        self._read(slot, whole[:-1])
        if sampling.greedy:
            # Laws of sure guesses are not asked for: the target's best tokens decide.
            best = self._runner.greedy(whole[-1:], [len(whole) - 1], [slot], count)
            found: list[int] = best[0].tolist()
            laws: list[Tensor] = []
        else:
            found, laws = self._draw(slot, whole, count, sampling, generator)
        self._held[slot] = whole + found[:-1]
        return found, laws

    def forget(self, slot: int) -> None:
        self._held.pop(slot, None)

    def _read(self, slot: int, text: list[int]) -> None:
        """Let the cache hold a text; what is there already, and right, stays."""
        held = self._held.get(slot, [])
        known = 0
        while known < min(len(held), len(text)) and held[known] == text[known]:
            known += 1
        new = text[known:]
        if len(new) == 1 and known:
            self._runner.step(new, [known], [slot])
        elif new:
            self._runner.prefill(text, slot, known)

    def _draw(
        self, slot: int, text: list[int], count: int, sampling: Sampling, generator: Generator
    ) -> Guesses:
        found: list[int] = []
        laws: list[Tensor] = []
        for place in range(len(text) - 1, len(text) - 1 + count):
            token = found[-1] if found else text[-1]
            laws.append(sampling.law(self._runner.step([token], [place], [slot])[0]))
            found.append(draw(laws[-1], generator))
        return found, laws


def checked(count: int) -> int:
    """Return a number of guesses; ValueError if it is none."""
    if count < 1:
        raise ValueError(f"{count} guesses a round; it must be at least 1")
    return count


def best_of(guesses: Sequence[int], logits: Tensor) -> list[int]:  # k, [k+1, V]
    """Return the guesses that are the target's best tokens too, and the one behind them."""
    best: list[int] = torch.argmax(logits, dim=-1).tolist()
    stays = 0
    while stays < len(guesses) and guesses[stays] == best[stays]:
        stays += 1
    return best[: stays + 1]
