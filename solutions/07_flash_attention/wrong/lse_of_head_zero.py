"""lse is stored without the head's offset: the heads overwrite each other.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
-         lse_at = lse_ptr + (batch * H + head) * T + rows
+         lse_at = lse_ptr + batch * H * T + rows
""",
}
