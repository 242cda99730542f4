"""Operators at the ends of their inputs: honest forms keep the limit, lossy ones break it."""

import math

import pytest
import torch
from torch import Tensor

from grader.prove.ends import shares
from reference import attention as exact
from reference.ends import OPERATORS, Operator
from reference.ends.attention import by_log_sum_exp, by_scores, random_scores
from reference.limits import conditions

NEAR, FAR = 1 / 2, 3.0
each = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)


@each
def test_each_operator_has_six_forms_and_four_ends(operator: Operator) -> None:
    assert len(operator.forms) >= 6
    assert len(operator.ends) >= 4
    assert operator.calm in operator.ends
    assert operator.lossy


@pytest.mark.in_turn
@each
def test_honest_forms_stay_away_from_the_limit(operator: Operator) -> None:
    worst = max(shares(operator, operator.forms, operator.ends), key=lambda end: end.share)

    assert worst.share < NEAR, worst


@each
def test_lossy_forms_exceed_the_limit(operator: Operator) -> None:
    best = min(shares(operator, operator.lossy, [operator.calm]), key=lambda end: end.share)

    assert best.share > FAR, best


def drawn(scale: float) -> tuple[Tensor, Tensor, Tensor]:
    return random_scores(scale)(torch.Generator().manual_seed(1))


def test_a_log_sum_exp_of_thousands_loses_what_is_told_of_it() -> None:
    """Weights by their log-sum-exp miss 1 by its rounding: the limit must know of it."""
    q, k, v = drawn(70.0)
    want, _ = exact.attend(q, k, v, causal=True)
    error = (by_scores(by_log_sum_exp)(q, k, v) - want).abs()

    of_o, _ = conditions.attention_off(q, k, v)

    assert float((error / of_o).max()) < 2
    assert float(error.max()) > 1e-5


def test_where_scores_are_small_nothing_is_forgiven() -> None:
    q, k, v = drawn(1.0)

    of_o, of_lse = conditions.attention_off(q, k, v)

    assert float(of_o.max()) < 1e-6
    assert float(of_lse.max()) < 1e-6


def test_what_is_hidden_moves_nothing() -> None:
    """Of keys that a query does not see neither the size nor the number counts."""
    q, k, v = drawn(3.0)
    seen = torch.ones(5, 8, dtype=torch.bool)
    seen[:, 5:] = False
    far = k.clone()
    far[:, :, 5:] *= 1e6

    few = conditions.attention_off(q, k[:, :, :5], v[:, :, :5], seen[:, :5])
    many = conditions.attention_off(q, far, v, seen)

    for one, other in zip(few, many, strict=True):
        torch.testing.assert_close(one, other)


def test_a_query_that_sees_no_key_is_known_exactly() -> None:
    q, k, v = drawn(1.0)

    of_o, of_lse = conditions.attention_off(q, k, v, torch.zeros(5, 8, dtype=torch.bool))
    weights = conditions.softmax_off(torch.full((2, 3), -math.inf))

    assert not of_o.any()
    assert not of_lse.any()
    assert not weights.any()


def test_a_rotation_by_nothing_is_known_exactly() -> None:
    x = torch.randn(2, 3, 4, 6)

    assert not conditions.rope_off(x, torch.zeros(2, 4, dtype=torch.int64), 1e4).any()
