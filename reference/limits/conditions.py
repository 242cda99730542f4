"""How far right arithmetic may be off at an input, value by value: its condition times a rounding.

A form of an operator is honest if all that it does is round where float32 must: scores summed in
any order, a softmax by its maximum or by its log-sum-exp, a power by its logarithm. What such forms
lose is no luck of one of them: it is the size of what was rounded, times how strongly the result
follows it. Where that is small the limits of the table hold alone, and low precision shows.

Shapes end names (``docs/notation.md``): ``scores_BHTS`` is [B, H, T, S].
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

UNIT = 2.0**-24  # the largest relative error of one rounding to float32


def softmax_off(scores: Tensor) -> Tensor:  # [..., S] -> same
    """Return how far the weights softmax(scores) may be off; -inf is a score of weight 0.

    A rounding of a score moves its weight, and one of the log-sum-exp all weights of a row alike.
    """
    wide = scores.double()
    weights = torch.softmax(wide, -1).nan_to_num(0.0)
    sizes = torch.where(wide.isfinite(), wide.abs(), 0.0)
    lse = _finite(wide.logsumexp(-1, keepdim=True)).abs()
    return weights * UNIT * (sizes + lse + (weights * sizes).sum(-1, keepdim=True))


def attention_off(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    visible: Tensor | None = None,  # bool, as far as [B, H, T, S]; None: causal, last to last
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # of o [B, H, T, D] and of lse [B, H, T], both float64
    """Return how far attention may be off with scores, softmax and sums in float32.

    Key j moves o by its weight, its score's error and v_j - o, each of its own sign; a score is
    off by roundings of the sizes that it is the sum of, its own and those of one accumulator of D
    products. A rounding of the log-sum-exp moves all of o by as much of itself.
    """
    repeats, (new, context) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    if visible is None:
        visible = torch.ones(new, context, dtype=torch.bool).tril(context - new)
    q_BHTD = q.double()
    k_BHSD, v_BHSD = (x.double().repeat_interleave(repeats, 1) for x in (k, v))
    scores_BHTS = (q_BHTD @ k_BHSD.mT * factor).masked_fill(~visible, -math.inf)
    sizes_BHTS = q_BHTD.abs() @ k_BHSD.abs().mT * abs(factor)
    weights_BHTS = torch.softmax(scores_BHTS, -1).nan_to_num(0.0)
    o_BHTD = weights_BHTS @ v_BHSD
    moved_BHTS = (weights_BHTS * sizes_BHTS * UNIT * (1 + math.sqrt(q.shape[-1]) / 2)).square()
    apart_BHTD = moved_BHTS @ v_BHSD.square() - 2 * o_BHTD * (moved_BHTS @ v_BHSD)
    apart_BHTD = apart_BHTD + o_BHTD.square() * moved_BHTS.sum(-1, keepdim=True)
    lse_BHT = _finite(scores_BHTS.logsumexp(-1)).abs() * UNIT
    off_BHTD = apart_BHTD.clamp_min(0.0).sqrt() + o_BHTD.abs() * lse_BHT[..., None]
    return off_BHTD, moved_BHTS.sum(-1).sqrt() + lse_BHT


def merge_off(parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:  # o [..., T, D], lse [..., T]
    """Return how far a merge of results may be off, one after the other: [..., T, D], float64.

    A weight follows its difference to the log-sum-exp of all, and that one's roundings.
    """
    o, lse = (torch.stack([part[i].double() for part in parts]) for i in (0, 1))
    whole = _finite(lse.logsumexp(0))
    apart = _finite(lse - whole).abs() + (len(parts) - 1) * whole.abs()
    moved = (torch.exp(lse - whole) * apart).nan_to_num(0.0)
    return (moved[..., None] * o.abs()).sum(0) * UNIT


def rms_norm_off(x: Tensor, weight: Tensor, eps: float) -> Tensor:  # [..., E], [E] -> same
    """Return how far a norm may be off: its root by a logarithm, its sum by one accumulator."""
    wide = x.double()
    square = wide.square().mean(-1, keepdim=True) + eps
    roundings = torch.where(square > 0, square.log().abs() / 2, 0.0) + math.sqrt(x.shape[-1]) / 8
    return (wide * square.rsqrt() * weight.double()).abs().nan_to_num(0.0) * roundings * UNIT


def layer_norm_off(
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # of y [..., N], mean [M] and rstd [M], all float64
    """Return how far a layer norm may be off: by a rounding of x, and by three of a mean's terms.

    These are its sum's, that of 1/N, and that of the product. A mean that one accumulator adds up
    is off by as many more as N roundings come to, and where bias takes away what weight brings, y
    is by those of both.
    """
    wide, width = x.double(), x.shape[-1]
    center, typical = wide.mean(-1, keepdim=True), wide.abs().mean(-1, keepdim=True)
    rstd = ((wide - center).square().mean(-1, keepdim=True) + eps).rsqrt()
    scaled = weight.double().abs() * rstd
    y = scaled * (wide.abs() + 3 * typical + (wide - center).abs()) + bias.double().abs()
    mean = typical * (1 + math.sqrt(width) / 4)
    return y * UNIT, mean.reshape(-1) * UNIT, rstd.reshape(-1) * UNIT


def layer_norm_gradients_off(
    dy: Tensor,  # [..., N]
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    mean: Tensor,  # [M]
    rstd: Tensor,  # [M]
) -> tuple[Tensor, Tensor, Tensor]:  # of dx [..., N], dweight [N] and dbias [N], all float64
    """Return how far gradients of a layer norm may be off: by roundings of the terms of their sums.

    In a row of one or two elements dx is what is left of equal numbers: 0 but for these.
    """
    width, rows = x.shape[-1], mean.numel()
    upstream_MN, x_MN = (part.double().reshape(-1, width) for part in (dy, x))
    spread_M1 = rstd.double()[:, None]
    normal_MN = ((x_MN - mean.double()[:, None]) * spread_M1).abs()
    inner_MN = (upstream_MN * weight.double()).abs()
    level_M1 = inner_MN.mean(-1, keepdim=True)
    slope_M1 = (inner_MN * normal_MN).mean(-1, keepdim=True)
    dx_MN = spread_M1 * (inner_MN + level_M1 + normal_MN * slope_M1)
    along, down = ((3 + math.sqrt(number) / 4) * UNIT for number in (width, rows))
    return (
        dx_MN.reshape(x.shape) * along,
        (upstream_MN.abs() * normal_MN).sum(0) * down,
        upstream_MN.abs().sum(0) * down,
    )


def frequencies_off(frequencies: Tensor) -> Tensor:
    """Return how far each may be off that is a power: by a rounding of its logarithm."""
    wide = frequencies.double()
    return wide * wide.log().abs() * UNIT


def rope_off(x: Tensor, positions: Tensor, theta: float) -> Tensor:  # [B,H,T,D], [B,T] -> same
    """Return how far a rotation may be off whose frequencies and angles are rounded to float32."""
    half, places = x.shape[-1] // 2, positions[:, None, :, None].double()
    exponents = torch.arange(half, dtype=torch.float64) * (-2 / x.shape[-1])
    frequencies = torch.exp(exponents * math.log(theta))
    angles = places * (frequencies_off(frequencies) + frequencies * UNIT)
    first, second = x.double().chunk(2, dim=-1)
    return (torch.hypot(first, second) * angles).repeat(1, 1, 1, 2)


def product_off(a: Tensor, b: Tensor) -> Tensor:  # [..., M, K], [..., K, N] -> [..., M, N]
    """Return how far a product may be off in float32: its terms are rounded, and its sums."""
    return a.double().abs() @ b.double().abs() * (2 * UNIT)


def dequantized_off(
    x: Tensor,  # [..., I]
    codes: Tensor,  # [O, I] float64, times scale
    zeros: Tensor,  # [O, I] float64, times scale
) -> Tensor:  # [..., O]
    """Return how far x @ (codes - zeros).T may be off in float32.

    A zero may be taken from each code or from a group's sum: either way what is rounded are terms
    of the size of both, each of its own sign, and the sums that one accumulator has of them. And
    weights may be rounded to the dtype of x, which is off by as much as they are, no more.
    """
    wide, weight, steps = x.double(), codes - zeros, math.sqrt(x.shape[-1])
    terms = (wide.square() @ (codes.square() + zeros.square()).T).sqrt()
    sums = (wide @ codes.T).abs() + (wide @ zeros.T).abs()
    apart = weight.to(x.dtype).double() - weight
    rounded = torch.maximum((wide @ apart.T).abs(), (wide.square() @ apart.square().T).sqrt())
    return (terms * (1 + steps / 4) + sums * steps / 8) * UNIT + rounded


def linear_off(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # [..., I] -> [..., O]
    """Return how far a layer of float64 weights may be off whose codes are not known.

    Its zeros may be as large as the largest weight of their row. A bias is added to a sum that has
    been rounded to the dtype of x.
    """
    zeros = weight.abs().amax(-1, keepdim=True).expand_as(weight)
    off = dequantized_off(x, weight + zeros, zeros)
    unit = torch.finfo(x.dtype).eps / 2
    return off if bias is None else off + F.linear(x.double(), weight).abs() * unit


def swiglu_off(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """Return how far w_down (silu(w_gate x) * w_up x) may be off: [..., E] -> same.

    Below 0 silu is a tail: a rounding of the terms of a gate counts there as often as the gate is
    large.
    """
    wide, gates, ups, downs = (t.double() for t in (x, w_gate, w_up, w_down))
    gate, up = F.linear(wide, gates), F.linear(wide, ups)
    off_gate, off_up = (F.linear(wide.abs(), w.abs()) * UNIT for w in (gates, ups))
    sigmoid = torch.sigmoid(gate)
    slope = sigmoid * (1 + gate * (1 - sigmoid))
    hidden = slope.abs() * off_gate * up.abs() + F.silu(gate).abs() * off_up
    return F.linear(hidden, downs.abs()) + F.linear((F.silu(gate) * up).abs(), downs.abs()) * UNIT


def _finite(x: Tensor) -> Tensor:
    return torch.where(x.isfinite(), x, 0.0)
