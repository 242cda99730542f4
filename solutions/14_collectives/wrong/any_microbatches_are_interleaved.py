"""Microbatches that are no multiple of the stages are taken.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-     if microbatches % stages:
-         raise ValueError(f"microbatches={microbatches} is not a multiple of {stages} stages")
""",
}
