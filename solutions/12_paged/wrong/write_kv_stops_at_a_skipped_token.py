"""A token without a place is taken for the end.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     real = slots >= 0
+     real = (slots >= 0).long().cumprod(0).bool()
""",
}
