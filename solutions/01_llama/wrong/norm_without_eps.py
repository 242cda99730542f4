"""eps is ignored, so a row of zeros gives NaN.

From: variants/plain.py
Fails: norm, model
"""

LINES = {
    "rms_norm": r"""
-     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
+     rms = torch.sqrt(wide.square().mean(-1, keepdim=True))
""",
}
