"""The oracle of lab 06 against torch in float64: values, statistics, and autograd's gradients."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from reference.layernorm import gradients, layer_norm_backward, layer_norm_forward, rows_apart

SHAPES = [(3, 5), (7, 1), (1, 64), (2, 3, 33), (2, 1, 4, 9), (129,), (0, 6)]


def draw(*shape: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x, weight, bias and dy in float64."""
    generator = torch.Generator().manual_seed(sum(shape))
    x, dy = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    weight, bias = torch.randn(2, shape[-1], generator=generator, dtype=torch.float64)
    return 3 * x + 1, weight, bias, dy


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("eps", [1e-5, 0.7])
def test_forward_is_that_of_torch(shape: tuple[int, ...], eps: float) -> None:
    x, weight, bias, _ = draw(*shape)

    y, mean, rstd = layer_norm_forward(x, weight, bias, eps)

    want = torch.native_layer_norm(x, shape[-1:], weight, bias, eps)
    torch.testing.assert_close(y, want[0])
    torch.testing.assert_close(mean, want[1].flatten())
    torch.testing.assert_close(rstd, want[2].flatten())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("eps", [1e-5, 0.7])
def test_gradients_are_those_of_autograd(shape: tuple[int, ...], eps: float) -> None:
    x, weight, bias, dy = draw(*shape)
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    want = torch.autograd.grad(layer_norm(leaves[0], shape[-1:], *leaves[1:], eps), leaves, dy)

    got = gradients(x, weight, bias, dy, eps)

    for mine, theirs in zip(got, want, strict=True):
        # One element a row: the exact gradient is 0, and both are what rounding leaves of it.
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=1e-9)


def test_backward_is_that_of_torch_for_given_statistics() -> None:
    x, weight, bias, dy = draw(6, 21)
    mean, rstd = x.mean(-1) + 0.1, torch.full((6,), 0.8, dtype=torch.float64)
    operator = torch.ops.aten.native_layer_norm_backward
    given = (mean[:, None], rstd[:, None], weight, bias, [True] * 3)

    got = layer_norm_backward(dy, x, weight, mean, rstd)

    for mine, theirs in zip(got, operator(dy, x, [21], *given), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_low_precision_is_widened_first() -> None:
    x, weight, bias, dy = (tensor.to(torch.bfloat16) for tensor in draw(4, 50))

    got = layer_norm_forward(x, weight, bias, 1e-5)
    grads = gradients(x, weight, bias, dy, 1e-5)

    assert {tensor.dtype for tensor in (*got, *grads)} == {torch.float64}
    torch.testing.assert_close(
        got[0], layer_norm(x.double(), (50,), weight.double(), bias.double())
    )


def test_drawn_rows_differ_in_mean_and_scale() -> None:
    x = rows_apart(torch.Generator().manual_seed(3), 500, 400, offset=10)
    scale, mean = x.std(-1), x.mean(-1)

    assert x.shape == (500, 400)
    assert x.dtype == torch.float32
    assert 0.2 < float(scale.min()) < 0.3
    assert 3.3 < float(scale.max()) < 4.8
    assert 9 < float((mean / scale).abs().max()) < 12
    assert float((mean / scale).abs().min()) < 0.5
