"""The clock is looked at when the work is queued.

Fails: measure
"""

LINES = {
    "measure": r"""
          fn()
-         synchronize()
          times.append(clock() - start)
""",
}
