"""Oracle for beam search: the contract done literally, exhaustion, and searches that are clear.

Floating-point sums decide which beams survive, so two right answers may differ where scores almost
meet. A ``Puzzle`` is a search in which they never do: every decision has a margin.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

Logits = Callable[[Sequence[int]], Sequence[float]]  # the whole history -> logits of what follows
Hypothesis = tuple[list[int], float]  # new tokens, score

MARGIN = 2e-5  # log-probability, for logits of usual size: float32 is off by about 1e-6
ATTEMPTS = 4000


# --- models ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryModel:
    """Logits drawn anew for every history: two that differ anywhere, in order too, share nothing.

    A token has logit -inf with probability ``impossible``, but never all of a row.
    """

    vocab: int
    seed: int
    eos_id: int
    eos_bonus: Callable[[int], float] = lambda length: 0.0  # for EOS's logit, by history's length
    impossible: float = 0.0
    spread: float = 1.5  # standard deviation
    dtype: torch.dtype = torch.float32  # what the numbers are rounded to, once

    def __call__(self, history: Sequence[int]) -> list[float]:
        """Return the V logits that follow a history."""
        numbers = random.Random(f"{self.seed}: {' '.join(map(str, history))}")
        row = [numbers.gauss(0, self.spread) for _ in range(self.vocab)]
        spared = numbers.randrange(self.vocab)
        for token in range(self.vocab):
            if numbers.random() < self.impossible and token != spared:
                row[token] = -math.inf
        row[self.eos_id] += self.eos_bonus(len(history))
        return torch.tensor(row).to(self.dtype).tolist()


def log_probabilities(row: Sequence[float]) -> list[float]:
    """Return the log-softmax of a row with at least one finite logit."""
    largest = max(row)
    total = math.log(math.fsum(math.exp(logit - largest) for logit in row))
    return [logit - largest - total for logit in row]


# --- searches --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Search:
    """What a search must return, and how far it is from returning something else."""

    beams: list[Hypothesis]
    margin: float  # log-probability by which sums could be off and change neither slots nor order


def score(beam: Hypothesis, length_penalty: float) -> float:
    """Return the score of new tokens and their sum of log-probabilities; 0 for no tokens."""
    tokens, total = beam
    return total / len(tokens) ** length_penalty if tokens else 0.0


def distance(better: Hypothesis, worse: Hypothesis, length_penalty: float) -> float:
    """Return how far both sums must move for the two scores to meet."""
    gap = score(better, length_penalty) - score(worse, length_penalty)
    return gap / sum(len(tokens) ** -length_penalty for tokens, _ in (better, worse))


def beam_search(
    logits: Logits,
    prompt: Sequence[int],
    num_beams: int,
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> Search:
    """Do what the contract says, sentence by sentence."""
    beams: list[Hypothesis] = [([], 0.0)]  # here with the sum of log-probabilities
    margin = math.inf
    for _ in range(max_new_tokens):
        live = [beam for beam in beams if eos_id not in beam[0]]
        if not live:
            break
        pool = [beam for beam in beams if eos_id in beam[0]]
        for tokens, total in live:
            for token, step in enumerate(log_probabilities(logits([*prompt, *tokens]))):
                if step > -math.inf:
                    pool.append(([*tokens, token], total + step))
        pool.sort(key=lambda beam: score(beam, length_penalty), reverse=True)
        beams, rest = pool[:num_beams], pool[num_beams:]
        if rest:
            margin = min(margin, distance(beams[-1], rest[0], length_penalty))
    gaps = (distance(a, b, length_penalty) for a, b in pairwise(beams))
    found = [(beam[0], score(beam, length_penalty)) for beam in beams]
    return Search(found, min([margin, *gaps]))


def exhaustive(
    logits: Logits,
    prompt: Sequence[int],
    max_new_tokens: int,
    eos_id: int,
    length_penalty: float = 1.0,
) -> list[Hypothesis]:
    """Return every possible continuation that ends in EOS or is max_new_tokens long, best first."""

    def follow(tokens: list[int], total: float) -> list[Hypothesis]:
        if len(tokens) == max_new_tokens or tokens[-1:] == [eos_id]:
            return [(tokens, score((tokens, total), length_penalty))]
        steps = log_probabilities(logits([*prompt, *tokens]))
        return [
            hypothesis
            for token, step in enumerate(steps)
            if step > -math.inf
            for hypothesis in follow([*tokens, token], total + step)
        ]

    return sorted(follow([], 0.0), key=lambda hypothesis: -hypothesis[1])


# --- puzzles ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A search whose every decision is clear, and what it must find."""

    model: HistoryModel
    prompt: list[int]
    num_beams: int
    max_new_tokens: int
    length_penalty: float

    @property
    def eos_id(self) -> int:
        """The id that ends a sequence."""
        return self.model.eos_id

    def solve(self, num_beams: int | None = None, max_new_tokens: int | None = None) -> Search:
        """Search, with these limits in place of the puzzle's own."""
        return beam_search(
            self.model,
            self.prompt,
            self.num_beams if num_beams is None else num_beams,
            self.max_new_tokens if max_new_tokens is None else max_new_tokens,
            self.eos_id,
            self.length_penalty,
        )

    def best(self) -> list[Hypothesis]:
        """Return every continuation there is, the best first."""
        limit = self.max_new_tokens
        return exhaustive(self.model, self.prompt, limit, self.eos_id, self.length_penalty)


def clear_puzzle(
    numbers: random.Random,
    *,
    num_beams: int,
    max_new_tokens: int,
    vocab: int = 9,
    length: int = 4,  # of the prompt
    length_penalty: float = 1.0,
    eos_id: int | None = None,  # None: any
    eos_in_prompt: bool = False,
    eos_bonus: Callable[[int], float] = lambda length: 0.0,
    impossible: float = 0.0,
    spread: float = 1.5,
    dtype: torch.dtype = torch.float32,
    such_that: Callable[[Puzzle, list[Hypothesis]], bool] = lambda puzzle, beams: True,
) -> Puzzle:
    """Draw searches until one is clear and has what ``such_that`` asks of it and its beams."""
    for _ in range(ATTEMPTS):
        eos = numbers.randrange(vocab) if eos_id is None else eos_id
        seed = numbers.randrange(2**40)
        model = HistoryModel(vocab, seed, eos, eos_bonus, impossible, spread, dtype)
        prompt = [numbers.randrange(vocab) for _ in range(length)]
        if eos_in_prompt:
            prompt[1::2] = [eos] * len(prompt[1::2])
        puzzle = Puzzle(model, prompt, num_beams, max_new_tokens, length_penalty)
        search = puzzle.solve()
        if search.margin > MARGIN * max(1.0, spread) and such_that(puzzle, search.beams):
            return puzzle
    raise RuntimeError("no search of this kind is clear enough")
