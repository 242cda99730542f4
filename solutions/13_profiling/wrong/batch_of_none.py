"""A batch of 0 passes.

Fails: flops, bytes, memory
"""

LINES = {
    "_check_step": r"""
-     if batch < 1:
+     if batch < 0:
""",
}
