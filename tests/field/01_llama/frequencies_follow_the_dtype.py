"""Frequencies take the dtype of x, positions and angles do not: 1/64 of a turn is lost soon.

From: variants/plain.py
Kind: precision
Report: https://github.com/huggingface/transformers/issues/29496
Report: https://github.com/Modalities/modalities/pull/462
Fails: rope
"""

LINES = {
    "apply_rope": r"""
-     angles = positions[:, None, :, None] * speeds
+     angles = positions[:, None, :, None] * speeds.to(x.dtype).float()
""",
}
