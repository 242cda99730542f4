"""Multiplies the bias by the weight too.

From: variants/passes.py
Fails: forward, backward, speed
"""

LINES = {
    "forward_kernel": r"""
-         tl.store(y + columns, (value - center) * scale * w + b, mask=mask)
+         tl.store(y + columns, ((value - center) * scale + b) * w, mask=mask)
""",
}
