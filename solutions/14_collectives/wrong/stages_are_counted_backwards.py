"""The last stage begins with most forwards, the first with one.

Fails: schedules
"""

LINES = {
    "one_f_one_b": r"""
-     return [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]
+     return [_alternate(forwards, backwards, stage) for stage in range(stages)]
""",
}
