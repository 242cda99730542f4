"""A running request computes its last two tokens.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
-                 rows.append([request, n - 1, n])
+                 rows.append([request, n - 2, n])
""",
}
