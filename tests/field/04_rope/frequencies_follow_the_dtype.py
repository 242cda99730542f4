"""Frequencies are cast to the dtype of x before they meet the positions.

From: variants/plain.py
Kind: precision
Report: https://github.com/sgl-project/sglang-jax/pull/1473
Report: https://github.com/huggingface/transformers/issues/25681
Fails: rotate, caches, attend, sink
"""

LINES = {
    "rotate": r"""
-     angles = positions[:, None, :, None].float() * frequencies.float()
+     angles = positions[:, None, :, None].float() * frequencies.to(x.dtype).float()
""",
}
