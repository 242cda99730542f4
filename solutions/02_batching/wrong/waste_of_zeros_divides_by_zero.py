"""Lengths that are all zero raise.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     return (cells - sum(lengths)) / cells if cells else 0.0
+     return (cells - sum(lengths)) / cells if lengths else 0.0
""",
}
