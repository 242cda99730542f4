"""Rows without a token are not counted among the cells.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
      if min(lengths, default=0) < 0:
          raise ValueError("lengths must not be negative")
+     lengths = [length for length in lengths if length]
""",
}
