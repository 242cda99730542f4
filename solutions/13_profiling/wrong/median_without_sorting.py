"""The middle of the times as they came is told.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": times, "median": (times[(repeats - 1) // 2] + times[repeats // 2]) / 2, "minimum": min(times)}
""",
}
