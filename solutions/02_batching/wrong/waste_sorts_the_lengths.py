"""Sorts the list of the caller to find the longest.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     cells = len(lengths) * max(lengths, default=0)
+     lengths.sort()
+     cells = len(lengths) * lengths[-1] if lengths else 0
""",
}
