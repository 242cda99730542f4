"""append takes a fresh block for a shared one, and names no copy.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-             copies.append([source, target])
""",
}
