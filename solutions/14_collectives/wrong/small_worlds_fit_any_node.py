"""Fewer ranks than a node has are taken.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         if world % size:
+         if world > size and world % size:
""",
}
