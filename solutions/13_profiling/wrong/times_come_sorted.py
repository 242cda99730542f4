"""Times come by their size.

Fails: measure
"""

LINES = {
    "measure": r"""
-     return {"times": times, "median": median(times), "minimum": min(times)}
+     return {"times": sorted(times), "median": median(times), "minimum": min(times)}
""",
}
