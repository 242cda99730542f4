"""Notices negative lengths only if they outweigh the others.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     if min(lengths, default=0) < 0:
+     if sum(lengths) < 0:
""",
}
