"""Ranks that do not fill nodes are taken.

Fails: cost
"""

LINES = {
    "seconds": r"""
-         if world % size:
-             raise ValueError(f"per_node: {world} ranks do not fill nodes of {size}")
""",
}
