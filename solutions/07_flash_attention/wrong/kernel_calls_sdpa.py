"""torch's flash attention does the work.

From: variants/simple.py
Fails: triton, speed
"""


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, keys, values, is_causal=causal, scale=factor), q[..., 0].float()
