"""A layer norm: the mean is subtracted first.

From: variants/plain.py
Fails: norm, model, engine
"""

LINES = {
    "rms_norm": r"""
-     wide = x.float()
+     wide = x.float() - x.float().mean(-1, keepdim=True)
""",
}
