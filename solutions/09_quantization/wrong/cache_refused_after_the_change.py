"""rewind takes n off the length before it refuses.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.rewind": r"""
-         if n < 0 or n > self.length:
-             raise ValueError(f"n is {n}, more than the {self.length} tokens held")
-         self.length -= n
+         self.length -= n
+         if n < 0 or self.length < 0:
+             raise ValueError(f"n is {n}, more than the tokens held")
""",
}
