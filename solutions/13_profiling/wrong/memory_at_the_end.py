"""What is held at the end is told.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-     return [peak, at]
+     return [max(held.values(), default=0), at]
""",
}
