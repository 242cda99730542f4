"""Scales a float32 x in place: the caller's tensor changes.

From: variants/plain.py
Fails: norm, model, engine
"""

LINES = {
    "rms_norm": r"""
-     return (wide / rms * weight).to(x.dtype)
+     return wide.div_(rms).mul_(weight).to(x.dtype)
""",
}
