"""The last of equal peaks is told.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-             if held[device] > peak:
+             if held[device] >= peak:
""",
}
