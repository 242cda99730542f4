"""A context of the new tokens alone is refused.

Fails: flops, bytes, roofline, memory
"""

LINES = {
    "_check_step": r"""
-     if context < new:
+     if context <= new:
""",
}
