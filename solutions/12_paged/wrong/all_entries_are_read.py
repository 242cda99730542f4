"""All entries of a table are followed, the unused ones too.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         blocks = tables[row, : -(-length // size)].long()
+         blocks = tables[row].long()
""",
}
