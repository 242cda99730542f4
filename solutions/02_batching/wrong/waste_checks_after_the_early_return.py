"""Returns 0.0 before it looks for negative lengths.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     if min(lengths, default=0) < 0:
+     if max(lengths, default=0) <= 0:
+         return 0.0
+     if min(lengths) < 0:
""",
}
