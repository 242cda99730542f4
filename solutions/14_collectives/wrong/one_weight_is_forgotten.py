"""The last weights' gradient is never computed.

Fails: schedules
"""

LINES = {
    "zero_bubble": r"""
-         items += [["W", microbatch, 0] for microbatch in range(last, microbatches)]
+         items += [["W", microbatch, 0] for microbatch in range(last, microbatches - 1)]
""",
}
