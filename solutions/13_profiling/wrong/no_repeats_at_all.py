"""No repeats are an empty list.

Fails: measure
"""

LINES = {
    "measure": r"""
-     if repeats < 1:
+     if repeats < 0:
...
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": median(times or [0.0]), "minimum": min(times, default=0.0)}
""",
}
