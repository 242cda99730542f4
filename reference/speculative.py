"""Oracle of lab 10: laws counted out case by case, scripted models that keep a cache in sight, and
a clerk who reads off the calls what was guessed, accepted and kept.

A scripted model sees what its cache holds at every call, so a guess that was not taken back, or a
token that never entered, changes what it says. Arguments may be anything.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import torch
from torch import Tensor

from reference.scripted import PRIME, SPREAD, Misuse, describe

MAX_TOKENS = 5_000  # that may enter one model in one call, or be in its cache
Rows = Callable[[Sequence[int]], Sequence[float]]  # all tokens so far -> logits of the next

# --- laws ------------------------------------------------------------------------------------


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


# --- models ----------------------------------------------------------------------------------


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


# --- the clerk -------------------------------------------------------------------------------


def alike(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens two texts begin with alike."""
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return count


def rounds_needed(rows: Rows, text: Sequence[int], start: int, end: int, k: int) -> int:
    """Return the rounds that emit text[start:end] where a draft's greedy guesses are judged by it.

    ``text`` goes on to whatever ended it; a round emits its accepted guesses and one token.
    """
    place, rounds = start, 0
    while place < end:
        accepted = 0
        while accepted < k and place + accepted < end:
            row = rows(text[: place + accepted])
            if row.index(max(row)) != text[place + accepted]:
                break
            accepted += 1
        place += accepted + 1
        rounds += 1
    return rounds


def misplaced(diary: Sequence[Call], prompt: list[int], output: list[int], k: int) -> str:
    """Say which call found in its cache, or was given, what is not text or current guess; or ''.

    What follows the text in a target's call is its guess, at most k tokens. The draft's calls
    belong to the target's next one, or to the end of the text.
    """
    text = prompt + output
    following: Sequence[int] = text
    for number in range(len(diary) - 1, -1, -1):
        call = diary[number]
        if call.model == "target":
            following = call.whole
            if alike(call.whole, text) < len(call.whole) - k:
                return f"{_name(call, number)} holds more than the text and {k} guesses behind it"
        elif alike(call.whole, following) < min(len(call.whole), len(following)):
            return f"{_name(call, number)} holds what is neither text nor current guess"
        elif len(call.whole) > len(following) + k:
            return f"{_name(call, number)} holds far more than the text and {k} guesses"
    return ""


def _name(call: Call, number: int) -> str:
    return f"in call {number + 1} the {call.model}, with {call.kept} tokens in its cache,"


def read_again(diary: Sequence[Call], model: str) -> int:
    """Return how many tokens entered a model that had read them, behind the same text, before."""
    texts: dict[tuple[int, int], int] = {}  # by the text before it and its last token: its number
    entered, different = 0, set[int]()
    for call in diary:
        if call.model == model:
            text = 0
            for place, token in enumerate(call.whole):
                text = texts.setdefault((text, token), len(texts) + 1)
                if place >= call.kept:
                    entered += 1
                    different.add(text)
    return entered - len(different)


def tallies(
    diary: Sequence[Call], prompt: list[int], output: list[int], k: int, eos_ids: Collection[int]
) -> set[tuple[int, int]]:
    """Return all pairs (drafted, accepted) that the target's calls and the output allow.

    A call without a guess may emit a token or not, and an accepted EOS may count as emitted.
    """
    states = {(0, 0, 0)}  # tokens emitted, drafted, accepted
    for call in diary:
        if call.model == "target":
            found = (_after(state, call.whole, prompt, output, k, eos_ids) for state in states)
            states = set[tuple[int, int, int]]().union(*found)
    return {(drafted, accepted) for emitted, drafted, accepted in states if emitted == len(output)}


def _after(
    state: tuple[int, int, int],
    whole: Sequence[int],
    prompt: list[int],
    output: list[int],
    k: int,
    eos_ids: Collection[int],
) -> set[tuple[int, int, int]]:
    """Return the states in which a target's call may leave the clerk."""
    emitted, drafted, accepted = state
    text = prompt + output[:emitted]
    if alike(whole, text) < min(len(whole), len(text)):
        return set()
    guess = whole[len(text) :]
    if len(guess) > k:
        return set()
    if not guess:
        silent = {state}
        return silent if len(whole) < len(text) else silent | {_more(state, 1, output)}
    right = alike(guess, output[emitted:])
    after = (_more(state, right + 1, output)[0], drafted + len(guess), accepted + right)
    ends = emitted + right == len(output) and right < len(guess) and guess[right] in eos_ids
    return {after, (after[0], after[1], after[2] + 1)} if ends else {after}


def _more(state: tuple[int, int, int], count: int, output: list[int]) -> tuple[int, int, int]:
    return min(state[0] + count, len(output)), state[1], state[2]
