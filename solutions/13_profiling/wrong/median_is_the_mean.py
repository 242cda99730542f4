"""The mean is told for the median.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": sum(times) / repeats, "minimum": min(times)}
""",
}
