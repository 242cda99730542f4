"""The error of rewind does not name n.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.rewind": r"""
-             raise ValueError(f"n is {n}, more than the {self.length} tokens held")
+             raise ValueError(f"{n} tokens cannot be dropped")
""",
}
