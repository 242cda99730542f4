"""A trace without memory events is an error.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-     return [peak, at]
+     return [peak, at][: 2 * len(held)]
""",
}
