"""Offsets are multiples of 16.

Fails: memory
"""

LINES = {
    "": r"""
- ALIGNMENT = 64
+ ALIGNMENT = 16
""",
}
