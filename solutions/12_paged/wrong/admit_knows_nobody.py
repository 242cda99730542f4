"""admit lets a sequence in that lives already: its old blocks are lost.

Fails: blocks
"""

LINES = {
    "BlockManager.admit": r"""
-         if seq in self._sequences:
-             raise ValueError(f"seq {seq} is known already")
""",
}
