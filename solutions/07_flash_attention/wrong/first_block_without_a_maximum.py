"""The running maximum is that of the first block of keys: later ones may overflow.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             new = tl.maximum(top, tl.max(scores, 1))
+             new = tl.where(top == float("-inf"), tl.max(scores, 1), top)
...
-             new = tl.maximum(top, tl.max(scores, 1) * scale)
+             new = tl.where(top == float("-inf"), tl.max(scores, 1) * scale, top)
""",
}
