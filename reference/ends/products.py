"""Sums of products in any order, and a gated pair of them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from reference import llama
from reference.ends.operator import Draw, Form, Limit, Operator
from reference.limits import honest
from reference.limits.conditions import product_off, swiglu_off

# --- matmul ----------------------------------------------------------------------------------


def factors(inner: int, scale: float = 1.0) -> Draw:
    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        a = torch.randn(5, inner, generator=generator) * scale
        return a, torch.randn(inner, 7, generator=generator)

    return draw


def cancelling(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw sums whose terms come twice, with both signs, but for a thousandth."""
    a, b = factors(64)(generator)
    return torch.cat((a, -a + a.roll(1, -1) / 1024), -1), torch.cat((b, b))


def magnitudes(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw terms of all sizes from 1e-6 to 1e6."""
    a, b = factors(257)(generator)
    return a * 10 ** torch.linspace(-6, 6, 257), b


def product_limit(a: Tensor, b: Tensor) -> Limit:
    options = {"inner": a.shape[-1], "off": product_off(a, b)}
    return Limit(a.double() @ b.double(), "matmul", options)


def one_by_one(a: Tensor, b: Tensor) -> Tensor:
    total = torch.zeros(a.shape[0], b.shape[1])
    for column, row in zip(a.unbind(1), b.unbind(0), strict=True):
        total = torch.addcmul(total, column[:, None], row)
    return total


def by_parts(a: Tensor, b: Tensor) -> Tensor:
    pairs = zip(a.tensor_split(3, 1), b.tensor_split(3, 0), strict=True)
    return torch.stack([x @ y for x, y in pairs]).sum(0)


def by_sums(order: honest.Sum) -> Form:
    return lambda a, b: order(a[:, None, :] * b.T)


MATMUL = Operator(
    "matmul",
    {
        "ordinary": factors(96),
        "one term": factors(1),
        "long": factors(4099),
        "cancelling": cancelling,
        "magnitudes": magnitudes,
        "1e15": factors(33, 1e15),
    },
    product_limit,
    {
        "torch": lambda a, b: a @ b,
        "transposed": lambda a, b: (b.T @ a.T).T,
        "backwards": lambda a, b: a.flip(1) @ b.flip(0),
        "one by one": one_by_one,
        "three parts": by_parts,
        "lanes": by_sums(lambda x: honest.in_lanes(x, 16)),
        "tiles": by_sums(lambda x: honest.in_tiles(x, 16)),
        "float64": lambda a, b: (a.double() @ b.double()).float(),
    },
    {
        "factors in bfloat16": lambda a, b: a.bfloat16().float() @ b.bfloat16().float(),
        "factors of 11 bits": lambda a, b: a.half().float() @ b.half().float(),
    },
)


# --- swiglu ----------------------------------------------------------------------------------

INNER, WIDTH = 10, 7


def gates(scale: float, shift: float = 0.0) -> Draw:
    """Draw inputs whose gates have a size, and lie about a number."""

    def draw(generator: torch.Generator) -> tuple[Tensor, ...]:
        x = torch.randn(3, WIDTH, generator=generator) * scale
        up = [torch.randn(INNER, WIDTH, generator=generator) * WIDTH**-0.5 for _ in range(2)]
        if shift:
            x[:, 0], up[0][:, 0] = 1.0, shift
        return x, *up, torch.randn(WIDTH, INNER, generator=generator) * INNER**-0.5

    return draw


def swiglu_limit(x: Tensor, *weights: Tensor) -> Limit:
    options = {"trusted": llama.swiglu(x, *weights), "off": swiglu_off(x, *weights)}
    want = llama.swiglu(x.double(), *(w.double() for w in weights))
    return Limit(want, "matmul", options)


def with_silu(silu: Form) -> Form:
    return lambda x, gate, up, down: (silu(x @ gate.T) * (x @ up.T)) @ down.T


def in_one_product(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    both = F.linear(x, torch.cat((gate, up)))
    first, second = both.chunk(2, -1)
    return F.linear(F.silu(first) * second, down)


def by_sides(x: Tensor) -> Tensor:
    """Take the power of e that cannot overflow, by the sign."""
    power = torch.exp(-x.abs())
    return x * torch.where(x < 0, power, 1.0) / (1 + power)


SWIGLU = Operator(
    "swiglu",
    {
        "ordinary": gates(1.0),
        "gates of 1e4": gates(1e4),
        "gates near -20": gates(1.0, -20.0),
        "gates near -60": gates(1.0, -60.0),
        "gates of 1e-6": gates(1e-6),
    },
    swiglu_limit,
    {
        "torch": with_silu(F.silu),
        "sigmoid": with_silu(lambda x: x * torch.sigmoid(x)),
        "a quotient": with_silu(lambda x: x / (1 + torch.exp(-x))),
        "logarithms": with_silu(lambda x: x * torch.exp(F.logsigmoid(x))),
        "by sides": with_silu(by_sides),
        "one product": in_one_product,
        "float64": lambda x, *weights: llama.swiglu(
            x.double(), *(w.double() for w in weights)
        ).float(),
    },
    {
        "in bfloat16": lambda x, *weights: llama.swiglu(x.bfloat16(), *weights).float(),
        "a gate in float16": with_silu(lambda x: F.silu(x.half()).float()),
    },
)
