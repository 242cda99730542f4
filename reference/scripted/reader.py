"""Scripted models that keep a cache in sight: what they say depends on all that it holds.

So a guess that was not taken back, or a token that never entered, changes what they say. Every call
is noted. Arguments may be anything.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from reference.scripted.masked import PRIME, SPREAD, Misuse, describe

MAX_TOKENS = 5_000  # that may enter one model in one call, or be in its cache
Rows = Callable[[Sequence[int]], Sequence[float]]  # all tokens so far -> logits of the next


class Script:
    """Logits, pairwise distinct, that depend on every token so far and on their order.

    At the lengths of ``endings`` the id given there is best; ``silent`` ids never are otherwise.
    """

    def __init__(
        self,
        vocab: int,
        seed: int,
        silent: Collection[int] = (),
        endings: dict[int, int] | None = None,
    ) -> None:
        self.vocab = vocab
        self._seed = seed % PRIME
        self._silent = frozenset(silent)
        self._endings = dict(endings or {})

    def __call__(self, history: Sequence[int]) -> list[float]:
        state = self.state(history)
        factor, offset = state % (SPREAD - 1) + 1, state // SPREAD % SPREAD
        row = [((factor * v + offset) % SPREAD - SPREAD // 2) / 8.0 for v in range(self.vocab)]
        row = [x - SPREAD if v in self._silent else x for v, x in enumerate(row)]
        if (ending := self._endings.get(len(history))) is not None:
            row[ending] += 3 * SPREAD
        return row

    def state(self, history: Sequence[int]) -> int:
        """Return a number that any change of the history changes."""
        state = self._seed
        for place, token in enumerate(history):
            state = (state * 48271 + (token + 1) * (place + 7919)) % PRIME
            state = state * state % PRIME + 1
        return state


def disagree(script: Script, right: Callable[[Sequence[int]], bool], instead: int = -1) -> Rows:
    """Return a draft whose best token is the target's where ``right`` says so, and else not.

    There it is ``instead``, or a neighbour if that is -1 or the target's own choice.
    """

    def rows(history: Sequence[int]) -> list[float]:
        row = script(history)
        if right(history):
            return row
        best = row.index(max(row))
        other = instead if instead not in (-1, best) else (best + 1) % len(row)
        row[best], row[other] = row[other], row[best]
        return row

    return rows


def greedy(rows: Rows, prompt: Sequence[int], count: int, eos_ids: Collection[int]) -> list[int]:
    """Return what the model says by itself: at most ``count`` tokens, without the EOS."""
    text = list(prompt)
    while len(text) < len(prompt) + count:
        row = rows(text)
        token = max(range(len(row)), key=row.__getitem__)
        if token in eos_ids:
            break
        text.append(token)
    return text[len(prompt) :]


@dataclass(frozen=True, slots=True)
class Call:
    """One forward: whose, how many tokens were in the cache, and all that is in it now."""

    model: str
    kept: int
    whole: tuple[int, ...]


class Reader:
    """A model with a cache: ``forward``, ``length`` and ``rewind`` as in the lab.

    ``diary`` gets every call, of all models that share it, in order; None saves the memory.
    """

    def __init__(self, name: str, vocab: int, rows: Rows, diary: list[Call] | None = None) -> None:
        self.tokens: list[int] = []
        self.calls = 0
        self._name = name
        self._vocab = vocab
        self._rows = rows
        self._diary = diary

    @property
    def length(self) -> int:
        return len(self.tokens)

    def forward(self, tokens: object = None) -> Tensor:  # [T, vocab]
        """Add tokens and answer; raise Misuse where no model could."""
        new = self._checked(tokens)
        kept = self.length
        self.calls += 1
        self.tokens += new
        if self._diary is not None:
            self._diary.append(Call(self._name, kept, tuple(self.tokens)))
        rows = [self._rows(self.tokens[: kept + i + 1]) for i in range(len(new))]
        return torch.tensor(rows, dtype=torch.float32).reshape(len(new), self._vocab)

    def rewind(self, n: object = None) -> None:
        """Drop the last n tokens."""
        if type(n) is not int:
            raise Misuse(f"rewind takes an int, not {describe(n)}")
        if not 0 <= n <= self.length:
            raise Misuse(f"the {self._name} was to drop {n} tokens of {self.length}")
        del self.tokens[self.length - n :]

    def _checked(self, tokens: object) -> list[int]:
        if type(tokens) is not list:
            raise Misuse(f"the {self._name} takes a list of ints, not {describe(tokens)}")
        ids = cast(list[object], tokens)
        if not all(type(token) is int and 0 <= token < self._vocab for token in ids):
            raise Misuse(f"the {self._name} was given what is no id below {self._vocab}")
        if len(ids) + self.length > MAX_TOKENS or self.calls > 20 * MAX_TOKENS:
            raise Misuse(f"the {self._name} was given far more tokens than are needed")
        return cast(list[int], ids)
