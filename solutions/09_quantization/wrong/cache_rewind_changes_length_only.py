"""rewind changes the length, and keeps the tokens.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.rewind": r"""
-         self.parts = [(q[:, :, : self.length], s[:, :, : self.length]) for q, s in self.parts]
""",
}
