"""Oracle for lab 06: layer normalisation in float64, each gradient written out from its formula.

Shapes end names: M rows, all leading axes flattened, N columns, 1 an axis of one.
"""

import torch
from torch import Tensor


def layer_norm_forward(
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # y [..., N], mean [M], rstd [M], all float64
    """Normalise each row by its mean and its biased variance; ``eps`` is added to the variance."""
    x = x.double()
    mean = x.mean(-1)
    variance = (x - mean[..., None]).square().mean(-1)
    rstd = (variance + eps).rsqrt()
    normal = (x - mean[..., None]) * rstd[..., None]
    return normal * weight.double() + bias.double(), mean.reshape(-1), rstd.reshape(-1)


def layer_norm_backward(
    dy: Tensor,  # [..., N]
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    mean: Tensor,  # [M]
    rstd: Tensor,  # [M]
) -> tuple[Tensor, Tensor, Tensor]:  # dx [..., N], dweight [N], dbias [N], all float64
    """Return the gradients of ``sum(y * dy)``; ``mean`` and ``rstd`` are taken as they are given.

    With n = (x - mean) * rstd and g = dy * weight, a row's gradient is
    rstd * (g - mean(g) - n * mean(g * n)) (Ba et al. 2016, arXiv:1607.06450, differentiated).
    """
    width = x.shape[-1]
    upstream_MN = dy.double().reshape(-1, width)
    spread_M1 = rstd.double()[:, None]
    normal_MN = (x.double().reshape(-1, width) - mean.double()[:, None]) * spread_M1
    inner_MN = upstream_MN * weight.double()
    along_M1 = (inner_MN * normal_MN).mean(-1, keepdim=True)
    dx_MN = spread_M1 * (inner_MN - inner_MN.mean(-1, keepdim=True) - normal_MN * along_M1)
    return dx_MN.reshape(x.shape), (upstream_MN * normal_MN).sum(0), upstream_MN.sum(0)


def gradients(
    x: Tensor,  # [..., N]
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    dy: Tensor,  # [..., N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # of x, weight and bias, all float64
    """Return what autograd must arrive at from ``layer_norm``, statistics included."""
    _, mean, rstd = layer_norm_forward(x, weight, bias, eps)
    return layer_norm_backward(dy, x, weight, mean, rstd)


def rows_apart(
    generator: torch.Generator,  # on the device of the result
    rows: int,
    width: int,
    dtype: torch.dtype = torch.float32,
    offset: float = 3.0,
) -> Tensor:  # [rows, width]
    """Draw rows that differ in scale (1/4 to 4) and in mean (``offset`` times their scale at most).

    A kernel that is right only for mean 0 and variance 1, or that mixes rows up, loses on these.
    """
    device = generator.device
    x = torch.randn(rows, width, generator=generator, device=device)
    scale = 4.0 ** (2 * torch.rand(rows, 1, generator=generator, device=device) - 1)
    shift = offset * (2 * torch.rand(rows, 1, generator=generator, device=device) - 1)
    return (x.add_(shift).mul_(scale)).to(dtype)
