"""Tiles the queries alone: a tile has all keys, so that no running softmax is needed.

From: variants/simple.py
Fails: tiled
"""


def flash_attention_torch(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, block: int = 64
) -> tuple[Tensor, Tensor]:
    B, H, T, D = q.shape
    G, S = k.shape[1:3]
    o, lse = torch.empty_like(q), q.new_empty(B, H, T, dtype=torch.float32)
    grouped, keys, values = q.reshape(B, G, H // G, T, D), k[:, :, None], v[:, :, None]
    for i in range(0, T, block):
        rows = grouped[..., i : i + block, :].float() * D**-0.5
        scores = rows @ keys.float().mT
        if causal:
            last = torch.arange(i, i + rows.shape[-2], device=q.device)[:, None] + S - T
            scores = scores.masked_fill(torch.arange(S, device=q.device) > last, -math.inf)
        level = torch.logsumexp(scores, -1, keepdim=True)
        p = torch.exp(scores - level.masked_fill(level == -math.inf, 0.0))
        o[:, :, i : i + block] = (p @ values.float()).reshape(B, H, rows.shape[-2], D)
        lse[:, :, i : i + block] = level.reshape(B, H, rows.shape[-2])
    return o, lse
