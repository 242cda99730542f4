"""Divides the padding by the real tokens.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     return (cells - sum(lengths)) / cells if cells else 0.0
+     return (cells - sum(lengths)) / sum(lengths) if cells else 0.0
""",
}
