"""Products with weights that are codes: a kernel's with packed ones, a layer's with a bias."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from reference.ends.operator import Draw, Form, Limit, Operator
from reference.limits.conditions import dequantized_off, linear_off

# --- packed weights --------------------------------------------------------------------------

Arguments = tuple[Tensor, Tensor, Tensor, Tensor]  # x [M, I], codes, scale and zero [O, groups, ?]


def packed(inner: int, group: int, dtype: torch.dtype = torch.float32, level: float = 0.0) -> Draw:
    """Draw codes and zeros of any value, and columns of x about a level."""

    def draw(generator: torch.Generator) -> Arguments:
        x = torch.randn(5, inner, generator=generator) + level
        shape = 7, inner // group
        codes = torch.randint(0, 16, (*shape, group), generator=generator).float()
        zero = torch.randint(0, 16, (*shape, 1), generator=generator).float()
        scale = 0.02 * 4 ** torch.randn(*shape, 1, generator=generator)
        return x.to(dtype), codes, scale, zero

    return draw


def near_zero(generator: torch.Generator) -> Arguments:
    """Draw weights of a step at most: of large codes little is left."""
    x, codes, scale, _ = packed(96, 32, level=20.0)(generator)
    step = torch.randint(-1, 2, codes.shape, generator=generator)
    return x, 14.0 + step, scale, torch.full_like(scale, 14.0)


def cancelling(dtype: torch.dtype) -> Draw:
    """Draw columns that come twice, with both signs, but for a thousandth."""

    def draw(generator: torch.Generator) -> Arguments:
        x, *parts = packed(64, 32)(generator)
        both = torch.cat((x, -x + x.roll(1, -1) / 1024), -1)
        codes, scale, zero = (torch.cat((part, part), 1) for part in parts)
        return both.to(dtype), codes, scale, zero

    return draw


def magnitudes(generator: torch.Generator) -> Arguments:
    """Draw groups of all sizes from 1e-6 to 1e6."""
    x, codes, scale, zero = packed(104, 8)(generator)
    return x, codes, scale * 10 ** torch.linspace(-6, 6, 13)[:, None], zero


def packed_limit(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Limit:
    parts = (part.double().expand_as(codes) * scale.double() for part in (codes, zero))
    sizes, zeros = (part.flatten(1) for part in parts)
    options = {"like": x, "inner": x.shape[-1], "off": dequantized_off(x, sizes, zeros)}
    return Limit(x.double() @ (sizes - zeros).T, "matmul", options)


def by_weights(dequantize: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Form:
    """Make a weight of each code, and multiply in float32."""

    def form(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        return (x.float() @ dequantize(codes, scale, zero).flatten(1).T).to(x.dtype)

    return form


def steps_times_scale(codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    return (codes - zero) * scale


def in_groups(x: Tensor, groups: int) -> Tensor:  # [M, I] -> float32 [M, 1, groups, group]
    return x.float().unflatten(-1, (groups, -1))[:, None]


def scaled_sums(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Scale the sum of each group."""
    sums = (in_groups(x, codes.shape[1]) * (codes - zero)).sum(-1)
    return (sums * scale[..., 0]).sum(-1).to(x.dtype)


def zeros_off_sums(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Take the zero, times the sum of x, from the sum of each group."""
    wide = in_groups(x, codes.shape[1])
    sums = (wide * codes).sum(-1) - zero[..., 0] * wide.sum(-1)
    return (sums * scale[..., 0]).sum(-1).to(x.dtype)


def offsets_last(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Add up codes of all groups, and take off what all zeros come to."""
    wide = in_groups(x, codes.shape[1])
    offsets = (wide.sum(-1) * (scale * zero)[..., 0]).sum(-1)
    return ((wide * (codes * scale)).flatten(2).sum(-1) - offsets).to(x.dtype)


def column_by_column(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    weight = steps_times_scale(codes, scale, zero).flatten(1)
    total = torch.zeros(x.shape[0], weight.shape[0])
    for column, row in zip(x.float().unbind(1), weight.unbind(1), strict=True):
        total = torch.addcmul(total, column[:, None], row)
    return total.to(x.dtype)


def halves_of_bytes(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Add up even columns and odd ones, in parts."""
    weight, wide = steps_times_scale(codes, scale, zero).flatten(1), x.float()
    parts = [wide[:, start::4] @ weight[:, start::4].T for start in (0, 2, 1, 3)]
    return torch.stack(parts).sum(0).to(x.dtype)


def rounded_weights(x: Tensor, codes: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Round each weight to the dtype of x, as tensor cores ask for."""
    weight = steps_times_scale(codes, scale, zero).to(x.dtype).float()
    return (x.float() @ weight.flatten(1).T).to(x.dtype)


PACKED = Operator(
    "packed int4 product",
    {
        "ordinary": packed(96, 32),
        "long": packed(4098, 2049),
        "groups of one column": packed(34, 1),
        "of one sign": packed(96, 8, level=9.0),
        "codes near their zeros": near_zero,
        "cancelling": cancelling(torch.float32),
        "magnitudes": magnitudes,
        "bfloat16": packed(1024, 32, torch.bfloat16),
        "float16, cancelling": cancelling(torch.float16),
    },
    packed_limit,
    {
        "dequantized": by_weights(steps_times_scale),
        "products less offsets": by_weights(lambda c, s, z: c * s - z * s),
        "scaled sums": scaled_sums,
        "zeros off sums": zeros_off_sums,
        "offsets last": offsets_last,
        "column by column": column_by_column,
        "halves of bytes": halves_of_bytes,
        "rounded weights": rounded_weights,
    },
    {
        "scales in float16": by_weights(lambda c, s, z: steps_times_scale(c, s.half().float(), z)),
        "weights in bfloat16": by_weights(
            lambda c, s, z: steps_times_scale(c, s, z).bfloat16().float()
        ),
        "x of 11 bits": lambda x, *parts: zeros_off_sums(x.half().float(), *parts),
    },
)


# --- a layer with a bias ---------------------------------------------------------------------

Layer = tuple[Tensor, Tensor, Tensor, Tensor]  # x [M, I], codes [O, I], scale [O], bias [O]


def layer(inner: int, dtype: torch.dtype = torch.float32, size: float = 0.01) -> Draw:
    """Draw codes of eight bits, and a scale of about a size for each row."""

    def draw(generator: torch.Generator) -> Layer:
        codes = torch.randint(-127, 128, (7, inner), generator=generator).float()
        scale = size * 4 ** torch.randn(7, generator=generator)
        x = torch.randn(5, inner, generator=generator).to(dtype)
        return x, codes, scale, torch.randn(7, generator=generator).to(dtype)

    return draw


def bias_against(dtype: torch.dtype) -> Draw:
    """Draw a bias that takes away all that the first row brings, but for a thousandth."""

    def draw(generator: torch.Generator) -> Layer:
        x, codes, scale, _ = layer(96, dtype)(generator)
        rows = x[:1].expand(5, -1) * (1 + torch.linspace(0, 1e-3, 5)[:, None])
        product = F.linear(x[:1].double(), codes.double() * scale.double()[:, None])[0]
        return rows.to(dtype), codes, scale, -product.to(dtype)

    return draw


def layer_limit(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Limit:
    weight = codes.double() * scale.double()[:, None]
    options = {"like": x, "inner": x.shape[-1], "off": linear_off(x, weight, bias)}
    return Limit(F.linear(x.double(), weight, bias.double()), "matmul", options)


def dequantized(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x.float(), codes * scale[:, None], bias.float()).to(x.dtype)


def in_dtype_of_x(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return F.linear(x, (codes * scale[:, None]).to(x.dtype), bias)


def bias_apart(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Add the bias to a product that has the dtype of x."""
    return F.linear(x, (codes * scale[:, None]).to(x.dtype)) + bias


def bias_first(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    weight, total = codes * scale[:, None], bias.float().expand(x.shape[0], -1)
    for column, row in zip(x.float().unbind(1), weight.unbind(1), strict=True):
        total = torch.addcmul(total, column[:, None], row)
    return total.to(x.dtype)


def scaled_last(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return (x.float() @ codes.T * scale + bias).to(x.dtype)


def bytes_about_128(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Keep codes without a sign, and take 128 times the sum of x off last."""
    wide = x.float()
    sums = wide @ (codes + 128).T - 128 * wide.sum(-1, keepdim=True)
    return (sums * scale + bias).to(x.dtype)


def in_float64(x: Tensor, codes: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    weight = codes.double() * scale.double()[:, None]
    return F.linear(x.double(), weight, bias.double()).to(x.dtype)


LINEAR = Operator(
    "quantized linear",
    {
        "ordinary": layer(96),
        "long": layer(4098),
        "large": layer(33, size=1e15),
        "a bias against it": bias_against(torch.float32),
        "bfloat16": layer(96, torch.bfloat16),
        "bfloat16, a bias against it": bias_against(torch.bfloat16),
        "float16, small weights": layer(96, torch.float16, size=2.0**-21),
    },
    layer_limit,
    {
        "dequantized": dequantized,
        "in the dtype of x": in_dtype_of_x,
        "a bias apart": bias_apart,
        "a bias first": bias_first,
        "scaled last": scaled_last,
        "bytes about 128": bytes_about_128,
        "float64": in_float64,
    },
    {
        "scales in float16": lambda x, c, s, b: dequantized(x, c, s.half().float(), b),
        "weights in bfloat16": lambda x, c, s, b: in_dtype_of_x(
            x.bfloat16(), c, s, b.bfloat16()
        ).float(),
    },
)
