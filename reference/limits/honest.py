"""What right float32 arithmetic may come to: one case, computed in many orders and writings.

A limit that one implementation sets is as loose or as tight as that one's luck. So suites take the
worst of several: sums in lanes, in tiles and backwards, one or two passes, scores scaled before or
after their product. What depends on luck even so, since the input magnifies each rounding, is told
from the input's condition, value by value: ``conditions``.

Shapes end names (``docs/notation.md``): ``scores_BHTS`` is [B, H, T, S]. In loops over tiles S are
the keys of one.
"""

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from reference import attention as exact
from reference import llama

BLOCKS = (16, 256, 2048)
MOST_STEPS = 128  # of a loop over blocks: a test should not wait for its limit
LARGE = 1 << 18  # scores of a head: with more of them fewer ways will do

Sum = Callable[[Tensor], Tensor]  # over the last axis


# --- sums ------------------------------------------------------------------------------------


def in_lanes(x: Tensor, block: int) -> Tensor:  # [..., N] -> [...]
    """Add block after block to an accumulator of that many lanes, then its lanes."""
    # numpy adds along an axis that is not the last one number by number, in x's dtype.
    return torch.from_numpy(_blocks(x, block).numpy().sum(-2)).sum(-1)


def in_tiles(x: Tensor, block: int) -> Tensor:  # [..., N] -> [...]
    """Add the sum of each block to that of those before it."""
    sums = _blocks(x, block).sum(-1)
    return torch.from_numpy(sums.numpy().cumsum(-1))[..., -1]


def _blocks(x: Tensor, block: int) -> Tensor:  # [..., N] -> [..., blocks, block]
    padding = -x.shape[-1] % block
    return torch.nn.functional.pad(x, (0, padding)).unflatten(-1, (-1, block)).contiguous()


def sums(width: int) -> list[Sum]:
    """Return ways to add up ``width`` numbers, each of its own order."""
    blocks = [block for block in BLOCKS if block < width]
    return [
        lambda x: x.sum(-1),
        lambda x: x.flip(-1).sum(-1),
        *(_by(order, block) for block in blocks for order in (in_lanes, in_tiles)),
    ]


def _steps(width: int) -> list[int]:
    """Return the blocks that are smaller than a width, and take not too long to get through it."""
    return [block for block in BLOCKS if block < width <= block * MOST_STEPS]


def _by(order: Callable[[Tensor, int], Tensor], block: int) -> Sum:
    return lambda x: order(x, block)


# --- layer norm ------------------------------------------------------------------------------

Results = tuple[Tensor, Tensor, Tensor]


def layer_norms(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> list[Results]:
    """Return y [..., N], mean [M] and rstd [M] in float32, as each honest way has them."""
    width = x.shape[-1]
    wide, w, b = x.float(), weight.float(), bias.float()
    found = [torch.native_layer_norm(wide, (width,), w, b, eps)]
    moments = [_two_passes(wide, add) for add in sums(width)]
    moments += [_welford(wide, block) for block in _steps(width)]
    for mean, variance in moments:
        rstd = (variance + eps).rsqrt()
        found.append(((wide - mean[..., None]) * rstd[..., None] * w + b, mean, rstd))
    return [(y, mean.reshape(-1), rstd.reshape(-1)) for y, mean, rstd in found]


def _two_passes(x: Tensor, add: Sum) -> tuple[Tensor, Tensor]:
    mean = add(x) / x.shape[-1]
    return mean, add((x - mean[..., None]).square()) / x.shape[-1]


def _welford(x: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """Merge the moments of one block after the other (Chan et al. 1979)."""
    mean, squares, count = torch.zeros(x.shape[:-1]), torch.zeros(x.shape[:-1]), 0
    for part in x.split(block, -1):
        own = part.mean(-1)
        apart, both = own - mean, count + part.shape[-1]
        squares = squares + (part - own[..., None]).square().sum(-1)
        squares = squares + apart.square() * (count * part.shape[-1] / both)
        mean, count = mean + apart * (part.shape[-1] / both), both
    return mean, squares / count


def layer_norm_gradients(
    dy: Tensor,  # [..., N]
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    mean: Tensor,  # [M]
    rstd: Tensor,  # [M]
) -> list[Results]:
    """Return dx [..., N], dweight [N] and dbias [N] in float32, as each honest way has them."""
    width = x.shape[-1]
    upstream_MN, x_MN = (part.float().reshape(-1, width) for part in (dy, x))
    w, spread_M1 = weight.float(), rstd[:, None]
    normal_MN = (x_MN - mean[:, None]) * spread_M1
    inner_MN = upstream_MN * w
    found: list[Results] = []
    ways = sums(width), sums(mean.numel())
    for along, down in itertools.zip_longest(*ways, fillvalue=ways[0][0]):
        level_M, slope_M = along(inner_MN) / width, along(inner_MN * normal_MN) / width
        dx_MN = spread_M1 * (inner_MN - level_M[:, None] - normal_MN * slope_M[:, None])
        columns = [(upstream_MN * normal_MN).T.contiguous(), upstream_MN.T.contiguous()]
        found.append((dx_MN.reshape(x.shape), down(columns[0]), down(columns[1])))
    shape = (*x.shape[:-1], 1)
    operator = torch.ops.aten.native_layer_norm_backward
    statistics = mean.reshape(shape), rstd.reshape(shape)
    found.append(operator(dy.float(), x.float(), (width,), *statistics, w, w, [True, True, True]))
    return found


# --- rms norm --------------------------------------------------------------------------------


def norm_rounded_twice(x: Tensor, weight: Tensor, eps: float) -> Tensor:  # [..., E], [E] -> same
    """Round to the dtype of x before the weight too, as transformers does."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normal = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (normal.to(x.dtype) * weight).to(x.dtype)


def rms_norms(x: Tensor, weight: Tensor, eps: float) -> list[Tensor]:
    """Return the norm in x's dtype, as each honest way has it."""
    return [llama.rms_norm(x, weight, eps), norm_rounded_twice(x, weight, eps)]


# --- attention -------------------------------------------------------------------------------


def attention_of_rounded_scores(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D]
    """Attend causally, with scores that are rounded to the dtype of q before their softmax."""
    repeats = q.shape[1] // k.shape[1]
    k_BHSD, v_BHSD = (x.repeat_interleave(repeats, 1) for x in (k, v))
    scores_BHTS = q @ k_BHSD.mT * q.shape[-1] ** -0.5
    first_hidden = k.shape[2] - q.shape[2] + 1
    hidden_TS = torch.ones(scores_BHTS.shape[-2:], dtype=torch.bool).triu(first_hidden)
    wide_BHTS = scores_BHTS.to(torch.promote_types(q.dtype, torch.float32))
    return torch.softmax(wide_BHTS.masked_fill(hidden_TS, -math.inf), dim=-1).to(q.dtype) @ v_BHSD


def attentions(
    q: Tensor,  # [B, H, T, D] float32
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,
    *,
    tile: int = 0,
) -> list[tuple[Tensor, Tensor]]:  # o [B, H, T, D], lse [B, H, T] of each
    """Return attention in float32, as each honest way has it; ``tile`` is one more to go by."""
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    root = math.sqrt(abs(factor))
    tiles = [*([tile] if tile else []), *_steps(k.shape[2])]
    if q.shape[2] * k.shape[2] > LARGE:
        return [
            exact.attend_in_kind(q, k, v, causal, scale),
            *(_in_tiles(q * factor, k, v, causal, size, 1.0) for size in tiles[-1:]),
        ]
    return [
        exact.attend_in_kind(q, k, v, causal, scale),
        exact.attend_in_kind(q * factor, k, v, causal, 1.0),
        exact.attend_in_kind(q * math.copysign(root, factor), k * root, v, causal, 1.0),
        exact.attend_in_kind(q.flip(-1), k.flip(-1), v, causal, scale),
        *(_in_tiles(q * factor, k, v, causal, size, 1.0) for size in tiles),
        *(_in_tiles(q, k, v, causal, size, factor) for size in (*tiles[:1], 1 << 30)),
        *(_by_merges(q, k, v, causal, size, factor) for size in tiles[:1]),
    ]


def _in_tiles(
    q_BHTD: Tensor, k_BGSD: Tensor, v_BGSD: Tensor, causal: bool, tile: int, factor: float
) -> tuple[Tensor, Tensor]:
    """Go over the keys a tile at a time, by powers of two, as kernels do (arXiv:2205.14135)."""
    repeats, (new, context) = q_BHTD.shape[1] // k_BGSD.shape[1], (q_BHTD.shape[2], k_BGSD.shape[2])
    best_BHT1 = torch.full((*q_BHTD.shape[:3], 1), -math.inf)
    total_BHT1, o_BHTD = torch.zeros_like(best_BHT1), torch.zeros_like(q_BHTD)
    factor = torch.tensor(factor * math.log2(math.e), dtype=torch.float32).item()
    last = torch.arange(context - new, context)[:, None] if causal else torch.tensor(context)
    for start in range(0, context, tile):
        k_BHSD, v_BHSD = (
            x[:, :, start : start + tile].repeat_interleave(repeats, 1) for x in (k_BGSD, v_BGSD)
        )
        places_S = torch.arange(start, start + k_BHSD.shape[2])
        scores_BHTS = (q_BHTD @ k_BHSD.mT * factor).masked_fill(places_S > last, -math.inf)
        higher_BHT1 = torch.maximum(best_BHT1, scores_BHTS.amax(-1, keepdim=True))
        safe_BHT1 = higher_BHT1.masked_fill(higher_BHT1 == -math.inf, 0.0)
        weights_BHTS = torch.exp2(scores_BHTS - safe_BHT1)
        shrink_BHT1 = torch.exp2(best_BHT1 - safe_BHT1)
        total_BHT1 = total_BHT1 * shrink_BHT1 + weights_BHTS.sum(-1, keepdim=True)
        o_BHTD, best_BHT1 = o_BHTD * shrink_BHT1 + weights_BHTS @ v_BHSD, higher_BHT1
    lse_BHT1 = (best_BHT1 + torch.log2(total_BHT1)) * math.log(2)
    return torch.where(total_BHT1 > 0, o_BHTD / total_BHT1, 0.0), lse_BHT1[..., 0]


def _by_merges(
    q_BHTD: Tensor, k_BGSD: Tensor, v_BGSD: Tensor, causal: bool, tile: int, factor: float
) -> tuple[Tensor, Tensor]:
    """Attend to each tile of keys by itself, and merge the results by their log-sum-exp."""
    repeats, (new, context) = q_BHTD.shape[1] // k_BGSD.shape[1], (q_BHTD.shape[2], k_BGSD.shape[2])
    o_BHTD, lse_BHT = torch.zeros_like(q_BHTD), torch.full(q_BHTD.shape[:3], -math.inf)
    last = torch.arange(context - new, context)[:, None] if causal else torch.tensor(context)
    for start in range(0, context, tile):
        k_BHSD, v_BHSD = (
            x[:, :, start : start + tile].repeat_interleave(repeats, 1) for x in (k_BGSD, v_BGSD)
        )
        places_S = torch.arange(start, start + k_BHSD.shape[2])
        scores_BHTS = (q_BHTD @ k_BHSD.mT * factor).masked_fill(places_S > last, -math.inf)
        whole_BHT = torch.logaddexp(lse_BHT, scores_BHTS.logsumexp(-1))
        safe_BHT = whole_BHT.masked_fill(whole_BHT == -math.inf, 0.0)
        before_BHT1 = torch.exp(lse_BHT - safe_BHT)[..., None]
        here_BHTD = torch.softmax(scores_BHTS, -1).nan_to_num() @ v_BHSD
        o_BHTD, lse_BHT = o_BHTD * before_BHT1 + here_BHTD * (1 - before_BHT1), whole_BHT
    return o_BHTD, lse_BHT
