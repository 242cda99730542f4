"""The stage waits for its message to arrive.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-                 clocks[stage] = max(clocks[stage], start) + times[kind]
+                 clocks[stage] = max(clocks[stage], start) + times[kind] + hop
""",
}
