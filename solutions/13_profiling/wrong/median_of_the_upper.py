"""Of an even number the upper middle is told.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": sorted(times)[repeats // 2], "minimum": min(times)}
""",
}
