"""Errors say what is wrong, but not of which argument.

Fails: blocks
"""

LINES = {
    "BlockManager.admit": r"""
-             raise ValueError(f"seq {seq} is known already")
+             raise ValueError(f"{seq} is known already")
""",
    "BlockManager._known": r"""
-             raise ValueError(f"seq {seq} is unknown")
+             raise ValueError(f"{seq} is unknown")
""",
}
