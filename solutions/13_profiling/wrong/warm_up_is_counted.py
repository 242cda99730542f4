"""Times of the warm-up are told too.

Fails: measure
"""

LINES = {
    "measure": r"""
-     for _ in range(repeats):
+     for _ in range(warmup + repeats):
...
-     for _ in range(warmup):
-         fn()
""",
}
