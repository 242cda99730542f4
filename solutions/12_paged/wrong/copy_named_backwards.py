"""append names target and source of a copy in the wrong order.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-             copies.append([source, target])
+             copies.append([target, source])
""",
}
