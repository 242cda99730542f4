"""Each stage begins with a forward more than it needs.

Fails: schedules
"""

LINES = {
    "one_f_one_b": r"""
-     return [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]
+     return [_alternate(forwards, backwards, stages - stage) for stage in range(stages)]
""",
}
