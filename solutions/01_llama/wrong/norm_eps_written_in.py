"""The norm always uses 1e-5.

From: variants/plain.py
Fails: norm, model
"""

LINES = {
    "rms_norm": r"""
-     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
+     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
""",
}
