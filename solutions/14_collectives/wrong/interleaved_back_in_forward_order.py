"""Backward takes the chunks in the order of forward.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-     backwards = [(microbatch, chunks - 1 - chunk) for microbatch, chunk in forwards]
+     backwards = list(forwards)
""",
}
