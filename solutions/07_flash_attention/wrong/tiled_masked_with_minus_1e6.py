"""Hidden keys get -1e6 for -inf in the PyTorch version: rows that see no key average them.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
-                 scores = scores.masked_fill(columns > last, -math.inf)
+                 scores = scores.masked_fill(columns > last, -1.0e6)
""",
}
