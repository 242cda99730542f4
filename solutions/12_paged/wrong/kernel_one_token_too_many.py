"""The kernel attends to one token too many.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         inside = positions < length
+         inside = positions <= length
""",
}
