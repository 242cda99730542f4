"""Computes the forward with torch's arithmetic; no kernel is launched.

From: variants/passes.py
Fails: forward, backward, speed
"""


def layer_norm_forward(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    rstd = ((wide - mean).square().mean(-1, keepdim=True) + eps).rsqrt()
    y = ((wide - mean) * rstd * weight.float() + bias.float()).to(x.dtype)
    return y, mean.flatten(), rstd.flatten()
