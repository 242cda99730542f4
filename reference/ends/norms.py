"""Norms of rows, by their mean squares and by their moments."""

import torch
from torch import Tensor

from reference import layernorm, llama
from reference.ends.operator import Draw, Limit, Operator
from reference.limits import honest
from reference.limits.conditions import layer_norm_off, rms_norm_off

Moments = tuple[Tensor, Tensor]  # mean and rstd
EPSILON = 1e-5


# --- rms norm --------------------------------------------------------------------------------


def rows(width: int, scale: float, eps: float = EPSILON) -> Draw:
    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, float]:
        x, weight = (torch.randn(n, width, generator=generator) for n in (4, 1))
        return x * scale, weight[0], eps

    return draw


def one_large(generator: torch.Generator) -> tuple[Tensor, Tensor, float]:
    """Draw rows in which one number is a million times as large as the others."""
    x, weight, eps = rows(33, 1.0)(generator)
    x[:, 7] *= 1e6
    return x, weight, eps


def rms_limit(x: Tensor, weight: Tensor, eps: float) -> Limit:
    options = {"inner": x.shape[-1], "trusted": honest.rms_norms(x, weight, eps)}
    want = llama.rms_norm(x.double(), weight.double(), eps)
    return Limit(want, "elementwise", options | {"off": rms_norm_off(x, weight, eps)})


def by_length(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.sqrt(length.square() / x.shape[-1] + eps) * weight


def by_largest(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Divide by the largest number first, so that no square is large."""
    most = x.abs().amax(-1, keepdim=True)
    small = x / most
    rms = torch.sqrt(small.square().mean(-1, keepdim=True) + eps / most.square())
    return small / rms * weight


def by_logarithms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    square = x.square().mean(-1, keepdim=True) + eps
    return x * torch.exp(-0.5 * torch.log(square)) * weight


def by_lanes(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    square = honest.in_lanes(x.square(), 16)[..., None] / x.shape[-1]
    return weight * x * torch.rsqrt(square + eps)


def by_product(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Let a matrix product add the squares up."""
    square = (x[..., None, :] @ x[..., None])[..., 0] / x.shape[-1]
    return x * (square + eps).pow(-0.5) * weight


RMS_NORM = Operator(
    "rms norm",
    {
        "ordinary": rows(96, 1.0),
        "two numbers": rows(2, 1.0),
        "1e15": rows(33, 1e15),
        "1e-15": rows(33, 1e-15, 1e-30),
        "wide": rows(16_385, 3.0),
        "one large": one_large,
    },
    rms_limit,
    {
        "torch": lambda x, w, eps: torch.nn.functional.rms_norm(x, x.shape[-1:], w, eps),
        "root": lambda x, w, eps: x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w,
        "length": by_length,
        "largest first": by_largest,
        "logarithms": by_logarithms,
        "lanes": by_lanes,
        "product": by_product,
    },
    {
        "in bfloat16": lambda x, w, eps: llama.rms_norm(x.bfloat16(), w, eps).float(),
        "squares in float16": lambda x, w, eps: (
            x * torch.rsqrt(x.half().square().mean(-1, keepdim=True).float() + eps) * w
        ),
    },
)


# --- layer norm ------------------------------------------------------------------------------


def far_above(number: int, width: int) -> Draw:
    """Draw rows whose mean is 100 deviations away from 0."""

    def draw(generator: torch.Generator) -> tuple[Tensor]:
        sign = 1 - 2 * torch.randint(0, 2, (number, 1), generator=generator)
        size = 1 + torch.randint(0, 9, (number, 1), generator=generator)
        return ((torch.randn(number, width, generator=generator) + 100.0 * sign) * size,)

    return draw


def centred(generator: torch.Generator) -> tuple[Tensor]:
    """Draw a row whose mean is nothing but rounding."""
    x = torch.randn(1, 320, generator=generator)
    return (x - x.mean(),)


def limit(x: Tensor) -> Limit:
    weight, bias = torch.ones(x.shape[-1]), torch.zeros(x.shape[-1])
    trusted = [y for y, _, _ in honest.layer_norms(x, weight, bias, EPSILON)]
    want, _, _ = layernorm.layer_norm_forward(x, weight, bias, EPSILON)
    off, _, _ = layer_norm_off(x, weight, bias, EPSILON)
    return Limit(want, "elementwise", {"inner": x.shape[-1], "trusted": trusted, "off": off})


def two_passes(x: Tensor) -> Moments:
    mean = x.float().mean(-1)
    return mean, (torch.var(x.float(), -1, correction=0) + EPSILON).rsqrt()


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
    return mean, 1 / (squares / count + EPSILON).sqrt()


def running_sums(x: Tensor) -> Moments:
    """Add up tiles of 32 as they come, times 1/N."""
    share_of_each = 1 / x.shape[-1]
    mean = torch.zeros(x.shape[0])
    for tile in x.float().split(32, -1):
        mean = mean + tile.sum(-1) * share_of_each
    variance = torch.zeros(x.shape[0])
    for tile in x.float().split(32, -1):
        variance = variance + (tile - mean[:, None]).square().sum(-1) * share_of_each
    return mean, (variance + EPSILON).rsqrt()


def tile_by_tile(x: Tensor) -> Moments:
    """Follow mean and squares from one tile of 64 to the next (Welford 1962)."""
    mean, squares, count = x[:, 0].float(), torch.zeros(x.shape[0]), 0
    for tile in x.float().split(64, -1):
        count += tile.shape[-1]
        before, mean = mean, mean + (tile - mean[:, None]).sum(-1) / count
        squares = squares + ((tile - before[:, None]) * (tile - mean[:, None])).sum(-1)
    return mean, (squares / count + EPSILON).rsqrt()


def from_the_first(x: Tensor) -> Moments:
    """Take each row's first number off, then go over it once."""
    first = x.float()[:, :1]
    apart = x.float() - first
    mean = apart.mean(-1)
    return mean + first[:, 0], (apart.square().mean(-1) - mean.square() + EPSILON).rsqrt()


def in_float64(x: Tensor) -> Moments:
    mean, variance = x.double().mean(-1), x.double().var(-1, correction=0)
    return mean.float(), (variance + EPSILON).rsqrt().float()


def one_pass(x: Tensor) -> Moments:
    wide = x.float()
    mean = wide.mean(-1)
    return mean, (wide.square().mean(-1) - mean.square() + EPSILON).rsqrt()


def in_bfloat16(x: Tensor) -> Moments:
    rounded = x.bfloat16()
    mean = rounded.sum(-1) / x.shape[-1]
    return mean.float(), (rounded.float().var(-1, correction=0) + EPSILON).rsqrt()


def normed(moments: Moments, x: Tensor) -> Tensor:
    mean, rstd = moments
    return (x.float() - mean[:, None]) * rstd[:, None]


LAYER_NORM = Operator(
    "layer norm",
    {
        "far above": far_above(7, 700),
        "one far above": far_above(1, 700),
        "one row": lambda generator: (layernorm.rows_apart(generator, 1, 37, offset=2),),
        "centred": centred,
    },
    limit,
    {
        "torch": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:], eps=EPSILON),
        "two passes": lambda x: normed(two_passes(x), x),
        "tiles of 128": lambda x: normed(tiles_of_128(x), x),
        "running sums": lambda x: normed(running_sums(x), x),
        "tile by tile": lambda x: normed(tile_by_tile(x), x),
        "from the first": lambda x: normed(from_the_first(x), x),
        "float64": lambda x: normed(in_float64(x), x),
    },
    {
        "one pass": lambda x: normed(one_pass(x), x),
        "in bfloat16": lambda x: normed(in_bfloat16(x), x),
    },
    calm="far above",
)
