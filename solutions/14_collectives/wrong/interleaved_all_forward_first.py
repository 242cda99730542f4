"""The interleaved schedule goes all forward, then all back.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-     ahead = [2 * (stages - stage - 1) + (chunks - 1) * stages for stage in range(stages)]
+     ahead = [microbatches * chunks for stage in range(stages)]
""",
}
