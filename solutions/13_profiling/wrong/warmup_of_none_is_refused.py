"""No warm-up is refused.

Fails: measure
"""

LINES = {
    "measure": r"""
-     if warmup < 0:
+     if warmup < 1:
""",
}
