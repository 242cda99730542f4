"""Offsets are multiples of 4096.

Fails: memory
"""

LINES = {
    "": r"""
- ALIGNMENT = 64
+ ALIGNMENT = 4096
""",
}
