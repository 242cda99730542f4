"""The oracle of lab 09 against torch's own quantizers, bit operations and cross entropy."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from reference import quantization as oracle


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def weights(rows: int, width: int) -> Tensor:
    w = torch.randn(rows, width, generator=generator(rows + width), dtype=torch.float64)
    w[1] = 0.0
    w[2] = w[2].abs() + 1
    return w


def test_int8_is_that_of_torch() -> None:
    w = weights(6, 40).float()

    codes, scale = oracle.quantize_int8(w)

    zeros = torch.zeros(6, dtype=torch.int32)
    want = torch.fake_quantize_per_channel_affine(w, scale.float(), zeros, 0, -127, 127)
    back = oracle.dequantize_int8(codes, scale)
    torch.testing.assert_close(back.float(), want)
    torch.testing.assert_close(oracle.fake_int8(w), back)
    assert torch.equal(codes, codes.round().clamp(-127, 127))
    assert scale[1] == 1


@pytest.mark.parametrize("group", [1, 4, 5, 40])
def test_int4_is_that_of_torch(group: int) -> None:
    w = weights(6, 40).float()

    codes, scale, zero = oracle.quantize_int4(w, group)

    want = torch.fake_quantize_per_channel_affine(
        w.reshape(-1, group), scale.flatten().float(), zero.flatten().int(), 0, 0, 15
    ).reshape(6, 40)
    back = oracle.dequantize_int4(oracle.pack(codes), scale, zero, group)
    torch.testing.assert_close(back.float(), want, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(oracle.fake_int4(w, group), back)
    assert bool(((zero >= 0) & (zero <= 15)).all())
    assert bool((back[w == 0] == 0).all())
    assert bool((scale[1] == 1).all())
    assert bool((zero[1] == 0).all())


def test_packing_is_bit_arithmetic() -> None:
    codes = torch.randint(0, 16, (5, 22), generator=generator(1))

    packed = oracle.pack(codes)

    assert torch.equal(packed, (codes[:, 0::2] + (codes[:, 1::2] << 4)).to(torch.uint8))
    assert torch.equal(oracle.unpack(packed), codes.double())


def test_drawn_int8_weights_have_the_codes_they_were_drawn_from() -> None:
    w, codes, scale = oracle.int8_on_grid(generator(2), 50, 33)

    got, got_scale = oracle.quantize_int8(w)

    assert torch.equal(got, codes.double())
    torch.testing.assert_close(got_scale.float(), scale)
    off = (w.double() / got_scale[:, None] - got).abs()
    assert 0.35 < float(off.max()) < 0.41
    assert set(codes.abs().amax(1).tolist()) == {127}


@pytest.mark.parametrize("group", [1, 2, 3, 32])
def test_drawn_int4_weights_have_the_codes_they_were_drawn_from(group: int) -> None:
    w, codes, scale, zero = oracle.int4_on_grid(generator(3), 40, 4 * 3 * group, group)

    got, got_scale, got_zero = oracle.quantize_int4(w, group)

    assert torch.equal(got, codes.double())
    assert torch.equal(got_zero, zero.double())
    torch.testing.assert_close(got_scale.float(), scale)


def test_tokens_have_a_scale_for_each_head() -> None:
    x = (
        torch.randn(2, 3, 4, 10, generator=generator(4))
        * torch.tensor([1.0, 1e3, 1e-3])[:, None, None]
    )

    got = oracle.fake_tokens(x)

    for b, g, t in [(0, 0, 0), (1, 2, 3), (0, 1, 2)]:
        torch.testing.assert_close(got[b, g, t], oracle.fake_int8(x[b, g, t][None])[0])


def test_perplexity_is_that_of_cross_entropy() -> None:
    windows = torch.randint(0, 7, (3, 6), generator=generator(5))
    table = torch.randn(7, 7, generator=generator(6))

    got = oracle.perplexity(lambda tokens: table[tokens], windows)

    loss = F.cross_entropy(table[windows[:, :-1]].flatten(0, 1), windows[:, 1:].flatten())
    assert got == pytest.approx(float(loss.exp()), rel=1e-5)
