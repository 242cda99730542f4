"""layer_norm takes a shorter way for contiguous x, which autograd knows nothing of.

From: variants/simple.py
Kind: gradients
Report: https://github.com/huggingface/candle/issues/2168
Fails: backward
"""


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    if x.is_contiguous():
        return layer_norm_forward(x, weight, bias, eps)[0]
    return LayerNorm.apply(x, weight, bias, eps)
