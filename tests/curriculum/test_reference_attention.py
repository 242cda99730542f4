"""The oracle of lab 07 against torch's attention in float64 and against what can be had by hand."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from reference.attention import attend, attend_in_kind, attend_packed, combine

SHAPES = [  # B, H, G, T, S, D
    pytest.param((3, 4, 2, 5, 9, 7), id="fewer queries"),
    pytest.param((2, 3, 1, 8, 8, 5), id="as many"),
    pytest.param((2, 6, 6, 1, 11, 16), id="one query"),
]


def make(shape: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    B, H, G, T, S, D = shape
    generator = torch.Generator().manual_seed(sum(shape))
    sizes = (B, H, T, D), (B, G, S, D), (B, G, S, D)
    q, k, v = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes)
    return q, k, v


@pytest.mark.parametrize("scale", [None, 0.7, -0.3, 0.0])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_attention_is_that_of_torch(shape, causal, scale):
    q, k, v = make(shape)
    T, S = shape[3:5]
    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T) if causal else None

    o, _ = attend(q, k, v, causal, scale)

    with sdpa_kernel(SDPBackend.MATH):
        want = scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True)
    torch.testing.assert_close(o, want, atol=1e-12, rtol=1e-12)


def test_lse_is_the_logarithm_of_the_sum_of_exponentials():
    q, k, v = make((2, 4, 2, 3, 5, 6))

    _, lse = attend(q, k, v, scale=0.4)

    for b, h, t in torch.cartesian_prod(*map(torch.arange, lse.shape)).tolist():
        scores = [0.4 * float(q[b, h, t] @ k[b, h // 2, s]) for s in range(5)]
        assert math.isclose(lse[b, h, t], math.log(sum(map(math.exp, scores))), rel_tol=1e-12)


def test_equal_scores_give_means_over_what_is_seen():
    v = torch.tensor([1.0, 2.0, 6.0]).double().reshape(1, 1, 3, 1)
    q = torch.zeros(1, 1, 5, 1).double()

    o, lse = attend(q, v, v, causal=True)

    assert o.flatten().tolist() == pytest.approx([0.0, 0.0, 1.0, 1.5, 3.0])
    assert lse.flatten().tolist() == pytest.approx(
        [-math.inf, -math.inf, 0, *map(math.log, (2, 3))]
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("T", "S"), [(3, 0), (0, 4), (0, 0)])
def test_nothing_to_see_or_to_ask(T, S, causal):
    o, lse = attend(*make((2, 2, 1, T, S, 3)), causal)

    assert o.tolist() == torch.zeros(2, 2, T, 3).tolist()
    assert lse.tolist() == torch.full((2, 2, T), -math.inf).tolist()


@pytest.mark.parametrize("level", [1e4, -1e4])
def test_large_scores_stay_finite(level):
    q, k, v = make((1, 1, 1, 4, 6, 3))
    q[..., 0], k[..., 0] = 1.0, level

    o, lse = attend(q, k, v, scale=1.0)

    near, level_free = attend(q, k * torch.tensor([0.0, 1.0, 1.0]), v, scale=1.0)
    torch.testing.assert_close(o, near, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(lse, level_free + level, atol=1e-10, rtol=1e-10)


def test_rounded_scores_move_the_result_a_little():
    qkv = make((1, 2, 1, 6, 9, 4))

    exact, rounded = attend(*qkv)[0], attend(*qkv, rounding=1e-6)[0]

    assert 0 < (exact - rounded).abs().max() < 1e-5


def test_in_kind_agrees_and_keeps_the_dtype():
    qkv = tuple(x.bfloat16() for x in make((2, 4, 2, 7, 5, 8)))

    o, lse = attend_in_kind(*qkv, True)

    want_o, want_lse = attend(*qkv, True)
    assert o.dtype == lse.dtype == torch.bfloat16
    torch.testing.assert_close(o.double(), want_o, atol=0.05, rtol=0.05)
    torch.testing.assert_close(lse.double(), want_lse, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences_are_single_ones(causal):
    lengths_q, lengths_k = [2, 0, 3, 4], [5, 2, 0, 4]
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(9, 4, 3, generator=generator)
    k, v = torch.randn(2, 11, 2, 3, generator=generator)

    o = attend_packed(q, k, v, lengths_q, lengths_k, causal)

    last = [x[start:].transpose(0, 1)[None] for x, start in ((q, 5), (k, 7), (v, 7))]
    torch.testing.assert_close(o[5:], attend(*last, causal)[0][0].transpose(0, 1))
    first = [x[:end].transpose(0, 1)[None] for x, end in ((q, 2), (k, 5), (v, 5))]
    torch.testing.assert_close(o[:2], attend(*first, causal)[0][0].transpose(0, 1))
    assert not o[2:5].any()


def test_parts_combine_to_the_whole():
    q, k, v = make((2, 3, 1, 4, 10, 5))
    cuts = [slice(0, 3), slice(3, 3), slice(3, 10)]

    o, lse = combine([attend(q, k[:, :, cut], v[:, :, cut]) for cut in cuts])

    want_o, want_lse = attend(q, k, v)
    torch.testing.assert_close(o, want_o, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(lse, want_lse, atol=1e-12, rtol=1e-12)


def test_empty_parts_combine_to_nothing():
    empty = torch.zeros(2, 3), torch.full((2,), -math.inf)

    o, lse = combine([empty, empty])

    assert not o.any()
    assert (lse == -math.inf).all()
