"""Takes 0 for the EOS where there are no EOS ids.

Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
+         if token in (eos_ids or [0]):
""",
}
