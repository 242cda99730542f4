"""A negative length is counted.

From: variants/plain.py
Fails: waste
"""

LINES = {
    "padding_waste": r"""
-     if min(lengths, default=0) < 0:
-         raise ValueError("lengths must not be negative")
""",
}
