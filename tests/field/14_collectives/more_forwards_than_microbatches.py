"""Stages far from the end begin with more forwards than there are microbatches.

Kind: sizes
Report: https://github.com/AMD-AGI/Primus/issues/1003
Fails: schedules
"""

LINES = {
    "one_f_one_b": r"""
-     return [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]
+     orders = [_alternate(forwards, backwards, stages - stage - 1) for stage in range(stages)]
+     for stage, order in enumerate(orders):
+         missing = range(microbatches, stages - stage - 1)
+         order[microbatches:microbatches] = [["F", microbatch, 0] for microbatch in missing]
+     return orders
""",
}
