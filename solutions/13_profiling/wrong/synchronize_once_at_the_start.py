"""Only ahead of the first repeat work is waited for.

Fails: measure
"""

LINES = {
    "measure": r"""
-     for _ in range(repeats):
-         synchronize()
+     synchronize()
+     for _ in range(repeats):
          start = clock()
""",
}
