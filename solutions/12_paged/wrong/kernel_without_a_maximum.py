"""exp is taken of the scores themselves.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         new = tl.maximum(top, tl.max(scores, 1))
+         new = tl.zeros([BLOCK_H], tl.float32)
...
-         shrink = tl.exp2(top - new)
+         shrink = tl.full([BLOCK_H], 1.0, tl.float32)
""",
}
