"""The maximum is subtracted in place: float() of float32 is no copy.

Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     scores = scores - top[:, None]
+     scores -= top[:, None]
""",
}
