"""Fewer microbatches than stages are taken.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-     if microbatches % stages:
+     if microbatches > stages and microbatches % stages:
""",
}
