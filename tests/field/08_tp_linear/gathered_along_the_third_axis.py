"""Outputs are joined along the axis that is the last one of a batch of texts.

From: variants/plain.py
Kind: sizes
Report: https://github.com/pytorch/torchtitan/pull/3206
Fails: column
"""

LINES = {
    "Gather.forward": r"""
-         return torch.cat(parts, dim=-1)
+         return torch.cat(parts, dim=min(y.dim() - 1, 2))
""",
}
