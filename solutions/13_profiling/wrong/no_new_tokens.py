"""A step of no new tokens passes.

Fails: flops, bytes, memory
"""

LINES = {
    "_check_step": r"""
-     if new < 1:
+     if new < 0:
""",
}
