"""The first time is dropped from the median.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": median(times[1:] or times), "minimum": min(times)}
""",
}
