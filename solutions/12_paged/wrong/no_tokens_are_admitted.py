"""A sequence of no tokens is admitted.

Fails: blocks
"""

LINES = {
    "BlockManager.admit": r"""
-         if not tokens:
-             raise ValueError("tokens is empty")
""",
}
