"""Public tests of lab 03: the examples of the handout, to try your code on as you go."""

import math

import pytest
import torch
from torch import Tensor

from grader.suite import assert_close, assert_equal, check, expect, task

INF = math.inf
ROW = [0.0, 2.0, 1.0, 2.0, -1.0]
EXAMPLES = [
    ("temperature", (2.0,), [0.0, 1.0, 0.5, 1.0, -0.5]),
    ("top_k", (2,), [-INF, 2.0, -INF, 2.0, -INF]),
    ("top_k", (1,), [-INF, 2.0, -INF, -INF, -INF]),
    ("top_p", (0.7,), [-INF, 2.0, -INF, 2.0, -INF]),
    ("top_p", (0.3,), [-INF, 2.0, -INF, -INF, -INF]),
    ("min_p", (0.3,), [-INF, 2.0, 1.0, 2.0, -INF]),
    ("repetition_penalty", ([[4, 1, 1]], 2.0), [0.0, 1.0, 1.0, 2.0, -2.0]),
]


@task("filters")
@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=lambda i: EXAMPLES[i][0])
def test_example_of_a_filter(student, number):
    """The row of the handout comes out as the handout says."""
    name, args, want = EXAMPLES[number]

    got = getattr(student, name)(torch.tensor([ROW]), *args)

    assert_close(got, torch.tensor([want]), "elementwise", dtype=torch.float32)


@task("filters")
def test_temperature_of_zero_is_refused(student):
    """t = 0 is a ValueError that names t."""
    with student.raises(ValueError, naming="t"):
        student.temperature(torch.tensor([ROW]), 0.0)


def favourite(logits: Tensor) -> Tensor:
    """A filter that you have never seen: it leaves only the second best token of each row."""
    second = logits.topk(2).indices[:, 1:]
    return torch.full_like(logits, -INF).scatter(-1, second, 0.0)


@task("sampler")
def test_sampler_draws_what_filters_leave(student):
    """Where the filters leave one token of each row, that token is drawn."""
    logits = torch.tensor([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0], [1.0, 2.0, 3.0]])
    sampler = student.Sampler(student.lend(favourite, keep=True))

    got = expect(sampler(logits), Tensor, "the tokens")

    assert_equal(got, torch.tensor([2, 2, 1]), "the tokens")


@task("sampler")
def test_equal_seeds_give_equal_tokens(student):
    """The generator decides: the same seed gives the same tokens, another seed others."""
    sampler = student.Sampler()
    logits = torch.zeros(50, 10)

    draws = [
        expect(sampler(logits, torch.Generator().manual_seed(seed)), Tensor, "the tokens")
        for seed in (7, 8, 7)
    ]

    assert_equal(draws[0], draws[2], "what is drawn with the first seed again")
    check(not torch.equal(draws[0], draws[1]), "another seed gives the same tokens")


@task("sampler")
def test_greedy_takes_the_best(student):
    """A greedy sampler takes the id of the largest logit."""
    got = student.Sampler(greedy=True)(torch.tensor([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0]]))

    assert_equal(got, torch.tensor([1, 0]), "the tokens")


TABLE = {
    (): [0.2, 0.5, 0.3],
    (1,): [0.3, 0.36, 0.34],
    (2,): [0.9, 0.06, 0.04],
    (1, 1): [0.2, 0.7, 0.1],
}


def spoken(tokens: Tensor) -> Tensor:
    """The model of the handout; what it does not list is answered with equal chances."""
    expect(tokens, Tensor, "what the model is given")
    integers = tokens.dtype in (torch.int32, torch.int64)
    check(integers and tokens.dim() == 2, "the model takes integers [B, T]")
    check(0 < tokens.numel() < 1000, "the model was given no tokens, or far too many")
    check(bool((tokens[:, 0] == 1).all()), "a row that the model is given starts with the prompt")
    rows = [TABLE.get(tuple(row[1:]), [1 / 3] * 3) for row in tokens.tolist()]
    return torch.tensor(rows).log()


@task("beam")
@pytest.mark.parametrize("penalty", [1.0, 2.0], ids=["length penalty 1", "length penalty 2"])
def test_example_of_a_beam_search(student, penalty):
    """The two beams of the handout, the best first, with their scores."""
    got = student.beam_search(student.lend(spoken), [1], 2, 3, 0, penalty)

    beams = [([2, 0], math.log(0.27) / 2**penalty), ([1, 1, 1], math.log(0.126) / 3**penalty)]
    want = sorted(beams, key=lambda beam: -beam[1])
    found = expect(got, list[tuple[list[int], float]], "the list of beams")
    assert_equal([tokens for tokens, _ in found], [tokens for tokens, _ in want], "the beams")
    near = [abs(x - y) < 1e-4 for (_, x), (_, y) in zip(found, want, strict=True)]
    check(all(near), "the beams are right, a score is not")


@task("beam")
def test_no_step_gives_the_empty_beam(student):
    """max_new_tokens = 0 gives one beam without tokens, of score 0.0."""
    assert_equal(student.beam_search(student.lend(spoken), [1], 2, 0, 0), [([], 0.0)], "the beams")
