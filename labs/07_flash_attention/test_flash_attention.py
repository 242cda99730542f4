"""Public tests of lab 07: the examples of the handout, and small cases against plain attention."""

import math

import pytest
import torch
from torch import Tensor

from grader.suite import assert_close, expect, task

Pair = tuple[Tensor, Tensor]
VALUES = torch.tensor([[1.0], [2.0], [6.0]])[None, None]  # [1, 1, 3, 1]


def plain(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Pair:
    """Attention from its definition in float64, with all scores at once."""
    k, v = (x.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q.double() @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        rows, columns = scores.shape[-2:]
        hidden = torch.ones(rows, columns, dtype=torch.bool).triu(columns - rows + 1)
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)


def compare(got: object, want: Pair) -> None:
    """Compare o and lse."""
    o, lse = expect(got, Pair)
    assert_close(lse, want[1], "attention", inner=1024, what="lse")
    assert_close(o, want[0], "attention", inner=1024, what="o")


def logs(*counts: float) -> Tensor:
    """Take the logarithm of each count: the lse of a row that sees so many keys of score 0."""
    return torch.tensor([[counts]], dtype=torch.float64).log()


@task("merge")
def test_example_of_merging(student):
    """One key of value 1 and two of mean 4 make three keys of mean 3."""
    got = student.merge(
        *(torch.tensor([[1.0]]), torch.tensor([0.0])),
        *(torch.tensor([[4.0]]), torch.tensor([math.log(2)])),
    )

    compare(got, (torch.tensor([[3.0]]).double(), logs(3)[0, 0]))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("flash_attention_torch", marks=task("tiled")),
        pytest.param("flash_attention", marks=task("triton")),
    ],
)
class TestBoth:
    """What the PyTorch version and the kernel have in common."""

    def test_equal_scores_give_the_mean(self, student, name):
        """Where all scores are 0, o is the mean of the values and lse the log of their number."""
        got = getattr(student, name)(torch.zeros(1, 1, 1, 1), VALUES * 0, VALUES)

        compare(got, (torch.full((1, 1, 1, 1), 3.0).double(), logs(3)))

    def test_last_query_sees_the_last_key(self, student, name):
        """Three queries, two keys, causal: they see none, one and two of the keys."""
        got = getattr(student, name)(
            torch.zeros(1, 1, 3, 1), VALUES[:, :, :2], VALUES[:, :, :2], causal=True
        )

        want = torch.tensor([0.0, 1.0, 1.5]).double().reshape(1, 1, 3, 1)
        compare(got, (want, logs(0, 1, 2)))

    @pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
    def test_small_random_case(self, student, draw, name, causal):
        """Two sequences, four heads on two key heads, 20 queries, 70 keys."""
        q, k, v = (draw.normal(2, heads, n, 16) for heads, n in ((4, 20), (2, 70), (2, 70)))

        compare(getattr(student, name)(q, k, v, causal=causal), plain(q, k, v, causal))


@task("varlen")
def test_example_of_packed_sequences(student):
    """The second sequence has no query, the third no key: its rows are 0."""
    q = torch.zeros(3, 1, 1)
    values = VALUES.reshape(3, 1, 1)
    starts_q, starts_k = (torch.tensor(x, dtype=torch.int32) for x in ([0, 2, 2, 3], [0, 2, 3, 3]))

    got = student.flash_attention_varlen(q, values * 0, values, starts_q, starts_k, causal=True)

    want = torch.tensor([1.0, 1.5, 0.0]).double().reshape(3, 1, 1)
    assert_close(got, want, "attention", inner=1024)
