"""The clock is looked at before what is queued is waited for.

Fails: measure
"""

LINES = {
    "measure": r"""
-         synchronize()
          start = clock()
+         synchronize()
""",
}
