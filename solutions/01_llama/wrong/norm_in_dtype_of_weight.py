"""The weight is applied after the cast back, so its dtype decides the result's.

From: variants/plain.py
Fails: norm
"""

LINES = {
    "rms_norm": r"""
-     return (wide / rms * weight).to(x.dtype)
+     return (wide / rms).to(x.dtype) * weight
""",
}
