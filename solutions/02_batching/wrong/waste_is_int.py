"""Returns the int 0 where nothing is wasted.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     return (cells - sum(lengths)) / cells if cells else 0.0
+     return (cells - sum(lengths)) / cells if cells else 0
""",
}
