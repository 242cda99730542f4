"""The bubble is what the last stage to begin waits for.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     bubble = 1 - busy / (stages * makespan) if makespan else 0.0
+     bubble = 1 - busy / stages / makespan if makespan and stages == 1 else (stages - 1) / (stages + len(items) / 2 / stages - 1)
""",
}
