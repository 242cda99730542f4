"""The error does not say which argument is wrong.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-         raise ValueError(f"microbatches={microbatches} is not a multiple of {stages} stages")
+         raise ValueError(f"{microbatches} is not a multiple of {stages}")
""",
}
