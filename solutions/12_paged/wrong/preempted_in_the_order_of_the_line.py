"""preempted has the order of waiting, not that in which they had to go.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         return {"rows": rows, "tables": tables, "preempted": preempted}
+         return {"rows": rows, "tables": tables, "preempted": preempted[::-1]}
""",
}
