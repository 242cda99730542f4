"""The mean square is taken along axis 1, which is the last of two axes only.

From: variants/plain.py
Fails: norm, model, engine
"""

LINES = {
    "rms_norm": r"""
-     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
+     rms = torch.sqrt(wide.square().mean(1, keepdim=True) + eps)
""",
}
