"""Calls torch's own layer norm.

From: variants/passes.py
Fails: forward, backward, speed
"""


def layer_norm_forward(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    width = x.shape[-1]
    y = torch.nn.functional.layer_norm(x, (width,), weight.to(x.dtype), bias.to(x.dtype), eps)
    mean = x.float().mean(-1).flatten()
    variance = (x.float() - x.float().mean(-1, keepdim=True)).square().mean(-1).flatten()
    return y, mean, (variance + eps).rsqrt()
