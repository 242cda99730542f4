"""Frequencies of rotary positions, and rotations by them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from reference import llama
from reference.ends.operator import Draw, Form, Limit, Operator
from reference.limits.conditions import frequencies_off, rope_off
from reference.rope import rope_frequencies

# --- frequencies -----------------------------------------------------------------------------


def of(dim: int, theta: float) -> Draw:
    return lambda generator: (dim, theta)


def frequencies_limit(dim: int, theta: float) -> Limit:
    """Allow 2e-6 of each, and four roundings of its logarithm."""
    want = rope_frequencies(dim, theta)
    return Limit(want, allowed=2e-6 * want + 4 * frequencies_off(want))


def places(dim: int) -> Tensor:  # [D/2]: 2i / D
    return torch.arange(0, dim, 2, dtype=torch.float32) / dim


def by_logarithm(dim: int, theta: float) -> Tensor:
    return torch.exp(-math.log(theta) * places(dim))


def by_scaled_logarithm(dim: int, theta: float) -> Tensor:
    step = torch.log(torch.tensor(theta)) * (-2 / dim)
    return torch.exp(torch.arange(dim // 2) * step)


def by_powers_of_two(dim: int, theta: float) -> Tensor:
    return torch.exp2(-math.log2(theta) * places(dim))


def in_float64(dim: int, theta: float) -> Tensor:
    return (theta ** -(torch.arange(0, dim, 2).double() / dim)).float()


def by_logspace(dim: int, theta: float) -> Tensor:
    last = -(dim - 2) / dim
    return torch.logspace(0, last, dim // 2, base=theta, dtype=torch.float64).float()


def in_bfloat16(dim: int, theta: float) -> Tensor:
    return (1 / theta ** places(dim)).bfloat16().float()


def by_half_a_logarithm(dim: int, theta: float) -> Tensor:
    return torch.exp((-math.log(theta) * places(dim)).half().float())


FREQUENCIES = Operator(
    "rope frequencies",
    {
        "ordinary": of(64, 1e4),
        "one pair": of(2, 1e4),
        "wide": of(256, 5e5),
        "theta 1.5": of(128, 1.5),
        "theta 1e9": of(256, 1e9),
        "theta 2 ** 64": of(128, 2.0**64),
        "theta 1e30": of(128, 1e30),
    },
    frequencies_limit,
    {
        "a negative power": lambda dim, theta: theta ** -places(dim),
        "one over a power": lambda dim, theta: 1 / theta ** places(dim),
        "a logarithm": by_logarithm,
        "a scaled logarithm": by_scaled_logarithm,
        "powers of two": by_powers_of_two,
        "float64": in_float64,
        "logspace": by_logspace,
    },
    {
        "in bfloat16": in_bfloat16,
        "a logarithm in float16": by_half_a_logarithm,
    },
)


# --- rotation --------------------------------------------------------------------------------


def turns(low: int, high: int, theta: float = 1e4, width: int = 12) -> Draw:
    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, float]:
        x = torch.randn(2, 3, 6, width, generator=generator)
        return x, torch.randint(low, high, (2, 6), generator=generator), theta

    return draw


def rotation_limit(x: Tensor, positions: Tensor, theta: float) -> Limit:
    options = {"inner": 4096, "trusted": llama.apply_rope(x, positions, theta)}
    want = llama.apply_rope(x.double(), positions, theta)
    return Limit(want, "elementwise", options | {"off": rope_off(x, positions, theta)})


def angles(
    frequencies: Callable[[int, float], Tensor], x: Tensor, positions: Tensor, theta: float
) -> Tensor:  # [B, 1, T, D/2]
    return positions[:, None, :, None].float() * frequencies(x.shape[-1], theta)


def with_frequencies(frequencies: Callable[[int, float], Tensor]) -> Form:
    """Turn halves by angles of frequencies that are computed in some way."""

    def rotate(x: Tensor, positions: Tensor, theta: float) -> Tensor:
        turned = angles(frequencies, x, positions, theta)
        cos, sin = turned.cos(), turned.sin()
        first, second = x.chunk(2, -1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    return rotate


def by_complex_numbers(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    turned = angles(in_float64, x, positions, theta)
    pairs = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(turned), turned)
    return torch.cat((pairs.real, pairs.imag), -1)


def by_doubled_tables(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Multiply x and its swapped halves with tables of the whole width."""
    turned = angles(in_float64, x, positions, theta).repeat(1, 1, 1, 2)
    first, second = x.chunk(2, -1)
    return x * turned.cos() + torch.cat((-second, first), -1) * turned.sin()


def by_outer_product(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    turned = torch.einsum("bt,i->bti", positions.float(), in_float64(x.shape[-1], theta))[:, None]
    matrix = torch.stack((turned.cos(), -turned.sin(), turned.sin(), turned.cos()), -1)
    pairs = torch.stack(x.chunk(2, -1), -1)[..., None]
    return (matrix.unflatten(-1, (2, 2)) @ pairs)[..., 0].transpose(-1, -2).flatten(-2)


ROTATION = Operator(
    "rope",
    {
        "ordinary": turns(1, 60),
        "positions of thousands": turns(2_049, 9_000),
        "one pair": turns(1, 60, width=2),
        "positions of 70,000": turns(60_000, 70_000),
        "positions of 16 million": turns(15_000_000, 16_000_000),
        "theta 2 ** 64": turns(60_000, 70_000, 2.0**64),
        "theta 1.5": turns(60_000, 70_000, 1.5),
    },
    rotation_limit,
    {
        "a negative power": with_frequencies(lambda dim, theta: theta ** -places(dim)),
        "one over a power": with_frequencies(lambda dim, theta: 1 / theta ** places(dim)),
        "a logarithm": with_frequencies(by_logarithm),
        "powers of two": with_frequencies(by_powers_of_two),
        "complex numbers": by_complex_numbers,
        "doubled tables": by_doubled_tables,
        "matrices": by_outer_product,
    },
    {
        "positions in float16": lambda x, positions, theta: llama.apply_rope(
            x, positions.half(), theta
        ).float(),
        "frequencies in bfloat16": with_frequencies(in_bfloat16),
    },
    calm="positions of thousands",
)
