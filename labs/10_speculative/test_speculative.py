"""Public tests of lab 10: the examples of the handout, to try your code on as you go."""

from typing import Any

import torch
from torch import Tensor

from grader.suite import assert_equal, check, expect, task


@task("greedy")
def test_example_of_greedy_acceptance(student):
    """The second of three guesses is wrong: one is kept, and the target's own token follows."""
    says = torch.eye(6)[[4, 1, 2, 5]]  # the best tokens of the rows: 4, 1, 2, 5

    assert_equal(student.accept_greedy([4, 3, 2], says), [4, 1])
    assert_equal(student.accept_greedy([4, 1, 2], says), [4, 1, 2, 5])
    assert_equal(student.accept_greedy([], says[:1]), [4])


@task("sample")
def test_example_of_sampled_acceptance(student):
    """The guess stays in half of the cases; the rest of the target's mass replaces it."""
    draft_probs = torch.tensor([[0.8, 0.2, 0.0]])
    target_probs = torch.tensor([[0.4, 0.2, 0.4], [0.0, 1.0, 0.0]])
    found = {(0, 1): 0, (2,): 0}

    for seed in range(400):
        generator = torch.Generator().manual_seed(seed)
        got = student.accept_sample([0], draft_probs, target_probs, generator)
        emitted = tuple(expect(got, list[int], "the tokens to emit"))
        check(emitted in found, f"{[*emitted]} cannot come out")
        found[emitted] += 1

    # Each has probability 1/2; 200 of 400 on average, by 60 off less than once in 10**8.
    check(abs(found[2,] - 200) < 60, f"the guess was replaced in {found[2,]} of 400 cases")


class Counter:
    """A model that counts: after each token it says the next, modulo 10, but after 6 ``other``."""

    def __init__(self, other: int) -> None:
        self.tokens: list[int] = []
        self.calls = 0
        self._other = other

    @property
    def length(self) -> int:
        return len(self.tokens)

    def forward(self, tokens: Any = None) -> Tensor:  # [T, 10]
        new = expect(tokens, list[int], "what forward is given")
        check(all(0 <= token < 10 for token in new), "a token is outside 0..9")
        self.calls += 1
        self.tokens += new
        return torch.eye(10)[[self._other if token == 6 else (token + 1) % 10 for token in new]]

    def rewind(self, n: Any = None) -> None:
        check(0 <= expect(n, int, "what rewind is given") <= self.length, "rewind drops too much")
        del self.tokens[self.length - n :]


@task("generate")
def test_example_of_generation(student):
    """Counting on from 2 takes three rounds of three guesses; the EOS 9 ends the text."""
    target, draft = Counter(7), Counter(0)
    lent = [student.lend(each, ("forward", "rewind"), ("length",)) for each in (target, draft)]

    got = student.speculative_generate(*lent, [2], 3, 20, [9])

    expect(got, tuple, "the result")
    check(len(got) == 2, "the result should be two things: tokens and statistics")
    assert_equal(got[0], [3, 4, 5, 6, 7, 8], "the tokens")
    check(target.calls <= 4, f"the target was called {target.calls} times for three rounds")
    stats = expect(got[1], dict, "the statistics")
    assert_equal(stats.get("target_calls"), target.calls, "target_calls")
    check({"drafted", "accepted"} <= stats.keys(), "the statistics lack drafted or accepted")
    for name, model in (("target", target), ("draft", draft)):
        whole = [2, 3, 4, 5, 6, 7, 8]
        check(model.tokens == whole[: model.length], f"the cache of the {name} is wrong at the end")


@task("speedup")
def test_example_of_the_speedup(student):
    """Guesses that are right half of the time: 1 + 1/2 + 1/4 tokens for 1 + 2 * 0.25 calls."""
    got = expect(student.expected_speedup(0.5, 2, 0.25), float, "the speed-up")

    check(abs(got - 1.75 / 1.5) < 1e-9, "expected_speedup(0.5, 2, 0.25) is not 7/6")
