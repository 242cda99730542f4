"""Limits from honest implementations: other honest ones stay well below, wrong ones well above.

The inputs are those of the suites' ill-conditioned tests, under many seeds.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.errors import Mismatch
from grader.proxy.compare import assert_close, measuring
from reference import attention as exact
from reference import honest, layernorm

SEEDS = range(40)
EPS = 1e-5
NEAR, FAR = 1 / 2, 3.0  # shares of a limit: right answers stay below, wrong ones above
Qkv = tuple[Tensor, Tensor, Tensor]
Moments = tuple[Tensor, Tensor]  # mean and rstd


def share(got: Tensor, want: Tensor, case: str, **options: Any) -> float:
    """Return the error as a share of its limit."""
    with measuring() as found:
        with contextlib.suppress(Mismatch):
            assert_close(got, want, case, **options)
    return found[0].share


# --- attention -------------------------------------------------------------------------------


def random_scores(scale: float) -> Callable[[torch.Generator], Qkv]:
    def draw(generator: torch.Generator) -> Qkv:
        q, k, v = (torch.randn(3, 3, n, 6, generator=generator) for n in (5, 8, 8))
        return q * scale, k * scale, v

    return draw


def whole_scores(generator: torch.Generator) -> Qkv:
    """Draw small integers, with scores near 600: the product is exact in every order."""
    q, k = (torch.randint(-8, 9, (3, 2, n, 16), generator=generator).float() for n in (5, 13))
    q[..., 0], k[..., 0] = 40.0, 60.0
    return q, k, torch.randn(3, 2, 13, 16, generator=generator)


ATTENTIONS = {
    "ordinary": random_scores(1.0),
    "hundreds": random_scores(12.0),
    "ten thousand": random_scores(70.0),
    "whole numbers": whole_scores,
}


def hidden(q: Tensor, k: Tensor) -> Tensor:
    return ~torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])


def by_einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(hidden(q, k), -math.inf).softmax(-1)
    return torch.einsum("bhts,bhsd->bhtd", weights, v)


def by_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scale q, add up products one by one, divide last."""
    q = q / math.sqrt(q.shape[-1])
    scores = sum(q[..., d, None] * k[..., None, :, d] for d in range(q.shape[-1]))
    assert isinstance(scores, Tensor)
    scores = scores.masked_fill(hidden(q, k), -math.inf)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights @ v) / weights.sum(-1, keepdim=True)


def key_by_key(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Go over the keys one at a time, by powers of e, with a running maximum."""
    best = torch.full((*q.shape[:3], 1), -math.inf)
    total, o = torch.zeros_like(best), torch.zeros_like(q)
    unseen = hidden(q, k)
    for s in range(k.shape[2]):
        score = (q * k[:, :, s : s + 1]).sum(-1, keepdim=True) * q.shape[-1] ** -0.5
        score = score.masked_fill(unseen[:, s : s + 1], -math.inf)
        higher = torch.maximum(best, score)
        weight, shrink = torch.exp(score - higher), torch.exp(best - higher)
        total, o = total * shrink + weight, o * shrink + weight * v[:, :, s : s + 1]
        best = higher
    return o / total


def by_torch(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    seen = ~hidden(q, k)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def half_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(hidden(q, k), -math.inf)
    return scores.half().float().softmax(-1) @ v


def half_weights(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(hidden(q, k), -math.inf)
    return scores.softmax(-1).half().float() @ v


RIGHT = (by_einsum, by_products, key_by_key, by_torch)


def attention_shares(kind: str, *attentions: Callable[..., Tensor]) -> list[float]:
    """Return the shares of the limit, for each attention under each seed."""
    found: list[float] = []
    for seed in SEEDS:
        q, k, v = ATTENTIONS[kind](torch.Generator().manual_seed(seed))
        trusted = [o for o, _ in honest.attentions(q, k, v, causal=True)]
        want, _ = exact.attend(q, k, v, causal=True)
        limit = {"trusted": trusted, "inner": k.shape[2]}
        found += [share(way(q, k, v), want, "attention", **limit) for way in attentions]
    return found


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_right_attention_stays_away_from_the_limit(kind: str) -> None:
    assert max(attention_shares(kind, *RIGHT)) < NEAR


@pytest.mark.parametrize(
    ("kind", "attention"),
    # A weight that is nearly 1 or 0 loses little where scores are far apart.
    [("ordinary", half_scores), ("hundreds", half_scores), ("ordinary", half_weights)],
)
def test_half_precision_on_the_way_exceeds_the_limit(
    kind: str, attention: Callable[..., Tensor]
) -> None:
    assert min(attention_shares(kind, attention)) > FAR


def test_rounding_the_scores_is_attention_still() -> None:
    """In float64 nothing is rounded; in half only as much as half allows."""
    q, k, v = random_scores(1.0)(torch.Generator().manual_seed(5))

    want, _ = exact.attend(q, k, v, causal=True)
    exactly = honest.attention_of_rounded_scores(q.double(), k.double(), v.double())
    rounded = honest.attention_of_rounded_scores(q.bfloat16(), k.bfloat16(), v.bfloat16())

    assert torch.allclose(exactly, want)
    assert 1e-4 < float((rounded.double() - want).norm() / want.norm()) < 0.05


def test_lse_has_honest_ways_too() -> None:
    q, k, v = random_scores(12.0)(torch.Generator().manual_seed(1))

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


def far_above(rows: int, width: int) -> Callable[[torch.Generator], Tensor]:
    """Draw rows whose mean is 100 deviations away from 0."""

    def draw(generator: torch.Generator) -> Tensor:
        sign = 1 - 2 * torch.randint(0, 2, (rows, 1), generator=generator)
        size = 1 + torch.randint(0, 9, (rows, 1), generator=generator)
        return (torch.randn(rows, width, generator=generator) + 100.0 * sign) * size

    return draw


def one_row(generator: torch.Generator) -> Tensor:
    return layernorm.rows_apart(generator, 1, 37, offset=2)


def centred(generator: torch.Generator) -> Tensor:
    """Draw a row whose mean is nothing but rounding."""
    x = torch.randn(1, 320, generator=generator)
    return x - x.mean()


def halves(generator: torch.Generator) -> Tensor:
    return (torch.randn(5, 700, generator=generator) * 9e3).half()


ROWS = {
    "far above": far_above(37, 700),
    "one far above": far_above(1, 700),
    "one row": one_row,
    "centred": centred,
    "halves near 1e4": halves,
}


def two_passes(x: Tensor) -> Moments:
    mean = x.float().mean(-1)
    return mean, (torch.var(x.float(), -1, correction=0) + EPS).rsqrt()


def tiles_of_128(x: Tensor) -> Moments:
    """Merge the moments of tiles, two by two (Chan et al.)."""
    parts = [
        (tile.mean(-1), tile.var(-1, correction=0) * tile.shape[-1], tile.shape[-1])
        for tile in x.float().split(128, -1)
    ]
    while len(parts) > 1:
        (m1, s1, n1), (m2, s2, n2), *rest = parts
        apart, n = m2 - m1, n1 + n2
        both = (n1 * m1 + n2 * m2) / n, s1 + s2 + apart**2 * (n1 * n2 / n), n
        parts = [*rest, both]
    mean, squares, count = parts[0]
    return mean, 1 / (squares / count + EPS).sqrt()


def running_sums(x: Tensor) -> Moments:
    """Add up tiles of 32 as they come, times 1/N."""
    share_of_each = 1 / x.shape[-1]
    mean = torch.zeros(x.shape[0])
    for tile in x.float().split(32, -1):
        mean = mean + tile.sum(-1) * share_of_each
    variance = torch.zeros(x.shape[0])
    for tile in x.float().split(32, -1):
        variance = variance + (tile - mean[:, None]).square().sum(-1) * share_of_each
    return mean, (variance + EPS).rsqrt()


def one_pass(x: Tensor) -> Moments:
    wide = x.float()
    mean = wide.mean(-1)
    return mean, (wide.square().mean(-1) - mean.square() + EPS).rsqrt()


def in_bfloat16(x: Tensor) -> Moments:
    rounded = x.bfloat16()
    mean = rounded.sum(-1) / x.shape[-1]
    return mean.float(), (rounded.float().var(-1, correction=0) + EPS).rsqrt()


def norm_shares(kind: str, *ways: Callable[[Tensor], Moments]) -> list[tuple[float, ...]]:
    """Return the shares of y, mean and rstd, for each way under each seed."""
    found: list[tuple[float, ...]] = []
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        x = ROWS[kind](generator)
        width = x.shape[-1]
        weight, bias = torch.randn(2, width, generator=generator)
        want = layernorm.layer_norm_forward(x, weight, bias, EPS)
        trusted = honest.layer_norms(x, weight, bias, EPS)
        limits = [
            {"inner": width, "scale": scale, "trusted": [way[i] for way in trusted]}
            for i, scale in enumerate((None, honest.mean_size(x), None))
        ]
        for way in ways:
            mean, rstd = way(x)
            got = (x.float() - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd
            triples = zip(got, want, limits, strict=True)
            found.append(tuple(share(g, w, "elementwise", **limit) for g, w, limit in triples))
    return found


@pytest.mark.parametrize("kind", ROWS)
def test_right_statistics_stay_away_from_the_limit(kind: str) -> None:
    shares = norm_shares(kind, two_passes, tiles_of_128, running_sums)

    assert max(max(triple) for triple in shares) < NEAR


def test_a_variance_of_one_pass_exceeds_the_limit() -> None:
    assert min(rstd for _, _, rstd in norm_shares("far above", one_pass)) > FAR


@pytest.mark.parametrize("kind", ROWS)
def test_a_mean_in_bfloat16_exceeds_the_limit(kind: str) -> None:
    assert min(max(triple) for triple in norm_shares(kind, in_bfloat16)) > FAR


@pytest.mark.parametrize(("rows", "width"), [(1, 37), (6, 2), (257, 37), (5, 5003)])
def test_honest_gradients_are_gradients(rows: int, width: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    dy, x = torch.randn(2, rows, width, generator=generator)
    weight = torch.randn(width, generator=generator)
    _, mean, rstd = layernorm.layer_norm_forward(x, weight, weight, EPS)
    case = dy, x, weight, mean.float(), rstd.float()
    want, sizes = layernorm.layer_norm_backward(*case), honest.gradient_sizes(*case)

    ways = honest.layer_norm_gradients(*case)

    for way in ways:
        for i, got in enumerate(way):
            trusted = [other[i] for other in ways]
            assert share(got, want[i], "backward", scale=sizes[i], trusted=trusted) < NEAR
            wrong = got + sizes[i].float() / 100
            assert share(wrong, want[i], "backward", scale=sizes[i]) > FAR
