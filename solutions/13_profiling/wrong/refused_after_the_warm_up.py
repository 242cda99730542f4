"""Repeats are looked at when the warm-up is over.

Fails: measure
"""

LINES = {
    "measure": r"""
-     if repeats < 1:
-         raise ValueError(f"repeats is {repeats}, and should be 1 or more")
      for _ in range(warmup):
          fn()
+     if repeats < 1:
+         raise ValueError(f"repeats is {repeats}, and should be 1 or more")
""",
}
