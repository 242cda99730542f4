"""The interleaved schedule begins with a forward more than it needs.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-     ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages for stage in range(stages)]
+     ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages + 1 for stage in range(stages)]
""",
}
