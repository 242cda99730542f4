"""A gap may be a block too narrow.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-             if offsets[j] - at >= size:
+             if offsets[j] - at + ALIGNMENT >= size and offsets[j] > at:
""",
}
