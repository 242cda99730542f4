"""-inf minus -inf: rows that see no key are NaN.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             safe = tl.where(new == float("-inf"), 0.0, new)  # -inf - -inf would be NaN
+             safe = new
""",
    "_forward": r"""
-     some = total > 0
+     some = total != 0
""",
}
