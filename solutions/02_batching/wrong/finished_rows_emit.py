"""Rows that have ended go on collecting tokens until the last row ends.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-             if not done[row]:
+             if token not in eos_ids:
""",
}
