"""Ends at the first of eos_ids only.

Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
+         if token in list(eos_ids)[:1]:
""",
}
