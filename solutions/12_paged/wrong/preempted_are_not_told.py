"""A plan does not say who was sent back.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-         return {"rows": rows, "tables": tables, "preempted": preempted}
+         return {"rows": rows, "tables": tables, "preempted": []}
""",
}
