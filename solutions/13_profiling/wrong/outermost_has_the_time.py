"""The slice that began first has the time.

Fails: trace
"""

LINES = {
    "self_times": r"""
-                 ends, innermost = open_[-1]
+                 ends, innermost = open_[0]
...
-                     open_.pop()
+                     open_.pop(0)
""",
}
