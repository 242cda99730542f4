"""The slowest time is dropped.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": [t for t in times if t < max(times)] or times, "median": median(times), "minimum": min(times)}
""",
}
