"""Every stage begins with as many forwards as the first.

Fails: schedules
"""

LINES = {
    "one_f_one_b": r"""
-     return [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]
+     return [_alternate(forwards, backwards, stages - 1) for stage in range(stages)]
""",
}
