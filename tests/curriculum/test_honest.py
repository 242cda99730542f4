"""Limits from honest implementations: other honest ones stay well below, wrong ones well above.

The inputs are those of the suites' ill-conditioned tests, under many seeds.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.errors import Mismatch
from grader.proxy.values.compare import assert_close, measuring
from reference import attention as exact
from reference import layernorm
from reference.ends import attention, norms
from reference.limits import conditions, honest

SEEDS = range(40)
EPS = 1e-5
NEAR, FAR = 1 / 2, 3.0  # shares of a limit: right answers stay below, wrong ones above
Moments = tuple[Tensor, Tensor]  # mean and rstd


def share(got: Tensor, want: Tensor, case: str, **options: Any) -> float:
    """Return the error as a share of its limit."""
    with measuring() as found:
        with contextlib.suppress(Mismatch):
            assert_close(got, want, case, **options)
    return found[0].share


# --- attention -------------------------------------------------------------------------------


def test_rounding_the_scores_is_attention_still() -> None:
    """In float64 nothing is rounded; in half only as much as half allows."""
    q, k, v = attention.random_scores(1.0)(torch.Generator().manual_seed(5))

    want, _ = exact.attend(q, k, v, causal=True)
    exactly = honest.attention_of_rounded_scores(q.double(), k.double(), v.double())
    rounded = honest.attention_of_rounded_scores(q.bfloat16(), k.bfloat16(), v.bfloat16())

    assert torch.allclose(exactly, want)
    assert 1e-4 < float((rounded.double() - want).norm() / want.norm()) < 0.05


def test_lse_has_honest_ways_too() -> None:
    q, k, v = attention.random_scores(12.0)(torch.Generator().manual_seed(1))

    for _, lse in honest.attentions(q, k, v, causal=True):
        torch.testing.assert_close(lse.float(), exact.attend(q, k, v, True)[1].float())


@pytest.mark.parametrize(("T", "S"), [(5, 0), (29, 5), (70, 50), (600, 600)])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_honest_attention_is_attention(T: int, S: int, causal: bool) -> None:
    generator = torch.Generator().manual_seed(T)
    q, k, v = (torch.randn(2, h, n, 8, generator=generator) for h, n in ((4, T), (2, S), (2, S)))
    want_o, want_lse = exact.attend(q, k, v, causal)

    ways = honest.attentions(q, k, v, causal)

    for o, lse in ways:
        torch.testing.assert_close(o.float(), want_o.float())
        torch.testing.assert_close(lse.float(), want_lse.float())


# --- layer norm ------------------------------------------------------------------------------


def halves(generator: torch.Generator) -> tuple[Tensor]:
    return ((torch.randn(5, 700, generator=generator) * 9e3).half(),)


ROWS = dict(norms.LAYER_NORM.ends) | {"halves near 1e4": halves}


def norm_shares(kind: str, *ways: Callable[[Tensor], Moments]) -> list[tuple[float, ...]]:
    """Return the shares of y, mean and rstd, for each way under each seed."""
    found: list[tuple[float, ...]] = []
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        (x,) = ROWS[kind](generator)
        width = x.shape[-1]
        weight, bias = torch.randn(2, width, generator=generator)
        want = layernorm.layer_norm_forward(x, weight, bias, EPS)
        trusted = honest.layer_norms(x, weight, bias, EPS)
        limits = [
            {"inner": width, "off": off, "trusted": [way[i] for way in trusted]}
            for i, off in enumerate(conditions.layer_norm_off(x, weight, bias, EPS))
        ]
        for way in ways:
            mean, rstd = way(x)
            got = (x.float() - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd
            triples = zip(got, want, limits, strict=True)
            found.append(tuple(share(g, w, "elementwise", **limit) for g, w, limit in triples))
    return found


@pytest.mark.parametrize("kind", ROWS)
def test_right_statistics_stay_away_from_the_limit(kind: str) -> None:
    shares = norm_shares(kind, norms.two_passes, norms.tiles_of_128, norms.running_sums)

    assert max(max(triple) for triple in shares) < NEAR


def test_a_variance_of_one_pass_exceeds_the_limit() -> None:
    assert min(rstd for _, _, rstd in norm_shares("far above", norms.one_pass)) > FAR


@pytest.mark.parametrize("kind", ROWS)
def test_a_mean_in_bfloat16_exceeds_the_limit(kind: str) -> None:
    assert min(max(triple) for triple in norm_shares(kind, norms.in_bfloat16)) > FAR


@pytest.mark.parametrize(("rows", "width"), [(1, 37), (6, 2), (257, 37), (5, 5003)])
def test_honest_gradients_are_gradients(rows: int, width: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    dy, x = torch.randn(2, rows, width, generator=generator)
    weight = torch.randn(width, generator=generator)
    _, mean, rstd = layernorm.layer_norm_forward(x, weight, weight, EPS)
    case = dy, x, weight, mean.float(), rstd.float()
    want = layernorm.layer_norm_backward(*case)
    off = conditions.layer_norm_gradients_off(*case)

    ways = honest.layer_norm_gradients(*case)

    for way in ways:
        for i, got in enumerate(way):
            assert share(got, want[i], "backward", off=off[i]) < NEAR
            assert share(got + 1e4 * off[i].float(), want[i], "backward", off=off[i]) > FAR
