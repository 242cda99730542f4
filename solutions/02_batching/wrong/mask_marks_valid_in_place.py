"""Builds the mask from valid and leaves valid changed.

From: variants/plain.py
Fails: mask
"""


def causal_mask(valid: Tensor) -> Tensor:
    real = (valid[:, :, None] & valid[:, None, :]).tril()
    valid.logical_not_()
    return (real | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
