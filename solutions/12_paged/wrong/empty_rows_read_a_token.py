"""A row of no token attends to the first place of its first block.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         if length == 0:
-             continue
+         length = max(length, 1)
""",
}
