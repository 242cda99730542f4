"""Public tests of lab 04: the examples of the handout, to try your code on as you go."""

import math

import pytest
import torch
from torch import Tensor

from grader.suite import assert_close, assert_equal, check, expect, task

QUAD = tuple[Tensor, Tensor, Tensor, Tensor]
QUARTER = torch.tensor([math.pi / 2])  # of a turn per position
CACHES = ["PostRopeCache", "PreRopeCache"]


def row(*tokens: tuple[float, ...]) -> Tensor:  # [1, 1, T, D]
    return torch.tensor([[list(tokens)]], dtype=torch.float32)


@task("frequencies")
def test_example_of_plain_frequencies(student):
    """With D = 8 and theta = 10000 each pair is ten times slower than the one before."""
    got = student.rope_frequencies(8, 10_000.0)

    assert_close(got, torch.tensor([1.0, 0.1, 0.01, 0.001]).double(), "elementwise")


@task("frequencies")
def test_example_of_scaled_frequencies(student):
    """Fast pairs stay, slow ones are divided by the factor, the third of four is a blend."""
    scaling = {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1000,
    }

    got = expect(student.rope_frequencies(8, 10_000.0, scaling), Tensor)

    want = torch.tensor([1.0, 0.1, 0.003979, 0.00025])
    check(got.shape == want.shape, "8 elements make 4 pairs, so there are 4 frequencies")
    off = [i for i, ratio in enumerate((got / want).tolist()) if not abs(ratio - 1) < 1e-3]
    check(not off, f"the scaled frequencies {off} are wrong")


@task("rotate")
def test_example_of_a_rotation(student):
    """Elements 0 and 2 are a pair, and turn by a quarter per position; 1 and 3 stay."""
    x = row(*[(1, 5, 0, 7)] * 3)

    got = student.rotate(x, torch.tensor([[0, 1, 2]]), torch.tensor([math.pi / 2, 0.0]))

    want = row((1, 5, 0, 7), (0, 5, 1, 7), (-1, 5, 0, 7))
    assert_close(got, want.double(), "elementwise", like=x)


@task("caches")
@pytest.mark.parametrize("kind", CACHES)
def test_example_of_two_updates(student, kind):
    """All keys come back, each turned by its own position; values are as they were."""
    cache = getattr(student, kind)(QUARTER)
    first = row((1, 0), (1, 0)), row((5, 6), (7, 8)), torch.tensor([[1, 2]])
    expect(cache.update(*first), QUAD, "what update returns")

    reply = cache.update(row((0, 3)), row((9, 9)), torch.tensor([[2]]))

    keys, values, key_positions, query_positions = expect(reply, QUAD, "what update returns")
    assert_close(keys, row((0, 1), (-1, 0), (0, -3)).double(), "elementwise", what="keys")
    assert_equal(values, row((5, 6), (7, 8), (9, 9)), "values")
    assert_equal(key_positions, torch.tensor([[1, 2, 2]]), "key_positions")
    assert_equal(query_positions, torch.tensor([[2]]), "query_positions")
    assert_equal(cache.length, 3, "length")


class Stranger:
    """A cache that you have not written: it returns five keys of its own, whatever comes in."""

    length = 5

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> QUAD:
        values = row((1, 0), (2, 0), (4, 0), (8, 0), (16, 0))
        return row(*[(0, 0)] * 5), values, torch.tensor([[4, 0, 9, 4, 2]]), torch.tensor([[4, 2]])


@task("attend")
def test_example_of_a_strange_cache(student):
    """Equal scores: a query gets the mean of the values at or before its position."""
    q, k = row((3, 1), (2, 5)), row((7, 7), (7, 7))
    lent = student.lend(Stranger(), methods=("update",), attributes=("length",))

    got = student.attend(q, k, k, torch.tensor([[0, 1]]), lent, QUARTER)

    want = row(((1 + 2 + 8 + 16) / 4, 0), ((2 + 16) / 2, 0))
    assert_close(got, want.double(), "attention", like=q)


@task("sink")
def test_example_of_an_eviction(student):
    """With one sink and a window of three, tokens a to f leave a, d, e and f at 0 to 3."""
    cache = student.SinkCache(QUARTER, 1, 3)
    names = row(*((float(token), 0.0) for token in range(6)))
    kept = [[0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 3, 4, 5]]

    for new, want in zip(names.split((2, 1, 1, 2), dim=2), kept, strict=True):
        count = new.shape[2]
        reply = cache.update(new, new, torch.zeros(1, count, dtype=torch.int64))
        _, values, key_positions, query_positions = expect(reply, QUAD, "what update returns")
        assert_equal(values, names[:, :, want], "values")
        places = torch.arange(len(want))[None]
        assert_equal(key_positions, places, "key_positions")
        assert_equal(query_positions, places[:, -count:], "query_positions")
        assert_equal(cache.length, len(want), "length")
