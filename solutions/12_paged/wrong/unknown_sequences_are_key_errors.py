"""A sequence that nobody knows is a KeyError.

Fails: blocks
"""

LINES = {
    "BlockManager._known": r"""
-         if seq not in self._sequences:
-             raise ValueError(f"seq {seq} is unknown")
""",
}
