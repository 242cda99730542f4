"""Divides the mean by the longest length and calls that waste.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     return (cells - sum(lengths)) / cells if cells else 0.0
+     return sum(lengths) / cells if cells else 0.0
""",
}
