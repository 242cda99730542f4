"""A row that has ended is looked at again in the next step.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-             done[row] = done[row] or token in eos_ids
+             done[row] = token in eos_ids
""",
}
