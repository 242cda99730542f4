"""The oracles of lab 15 against torch's own operators and lab 09's oracle."""

import pytest
import torch
from torch.nn import functional

from reference import operators, quantization


def normal(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_silu_mul_is_torch_s() -> None:
    gate, up = 20 * normal(3, 1, 7), normal(3, 1, 7, seed=2)

    torch.testing.assert_close(operators.silu_mul(gate, up), functional.silu(gate) * up)


def test_backward_is_autograd_s() -> None:
    dy, gate, up = (normal(4, 5, seed=seed) for seed in range(3))
    gate.requires_grad_()
    up.requires_grad_()

    wanted = torch.autograd.grad(functional.silu(gate) * up, (gate, up), dy)

    got = operators.silu_mul_backward(dy, gate.detach(), up.detach())
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norm_is_torch_s_on_the_rounded_sum(dtype: torch.dtype) -> None:
    x, residual = normal(2, 3, 6).to(dtype), normal(2, 3, 6, seed=2).to(dtype)
    weight = normal(6, seed=3).to(dtype)

    total = x + residual

    assert torch.equal(operators.add(x, residual), total)
    wanted = functional.rms_norm(total.double(), (6,), weight.double(), 1e-3)
    torch.testing.assert_close(operators.add_rms_norm(x, residual, weight, 1e-3), wanted)


def test_weights_are_lab_09_s() -> None:
    generator = torch.Generator().manual_seed(4)
    packed = torch.randint(0, 256, (5, 9), generator=generator, dtype=torch.uint8)
    zero = torch.randint(0, 16, (5, 6), generator=generator, dtype=torch.uint8)
    scale = torch.rand(5, 6, generator=generator)

    wanted = quantization.dequantize_int4(packed, scale, zero, 3)

    assert torch.equal(operators.int4_weights(packed, scale, zero, 3), wanted)
    x = normal(2, 18)
    got = operators.int4_linear(x, packed, scale, zero, 3)
    torch.testing.assert_close(got, functional.linear(x, wanted))
