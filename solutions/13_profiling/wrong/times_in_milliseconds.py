"""Times are a thousand times as large.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": [1000 * each for each in times], "median": median(times), "minimum": min(times)}
""",
}
