"""Times of a name are not added up.

Fails: trace
"""

LINES = {
    "self_times": r"""
-                 times[innermost] += until - now
+                 times[innermost] = until - now
""",
}
