"""The first time is told for the least.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": median(times), "minimum": times[0]}
""",
}
