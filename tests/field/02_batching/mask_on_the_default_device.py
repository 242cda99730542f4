"""The diagonal of the mask is made on torch's default device, wherever valid is.

Kind: contracts
Report: https://github.com/huggingface/transformers/pull/23538
Fails: mask
"""

LINES = {
    "causal_mask": r"""
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool))[:, None]
""",
}
