"""The bubble is idle time over busy time.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     bubble = 1 - busy / (stages * makespan) if makespan else 0.0
+     bubble = (stages * makespan - busy) / busy if busy else 0.0
""",
}
