"""The mask is additive: 0 and -inf.

From: variants/plain.py
Fails: mask, generate, engine
"""


def causal_mask(valid: Tensor) -> Tensor:
    real = valid[:, :, None] & valid[:, None, :]
    allowed = (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[
        :, None
    ]
    return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))
