"""A negative n is not refused: the length grows without a token.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.rewind": r"""
-         if n < 0 or n > self.length:
+         if n > self.length:
""",
}
