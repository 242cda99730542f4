"""rewind(0) drops everything.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.rewind": r"""
-         self.parts = [(q[:, :, : self.length], s[:, :, : self.length]) for q, s in self.parts]
+         self.parts = [(q[:, :, :-n], s[:, :, :-n]) for q, s in self.parts]
""",
}
