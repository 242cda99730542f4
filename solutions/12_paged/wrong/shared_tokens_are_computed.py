"""The row of an admitted request begins at 0, whatever is shared.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-             rows.append([self.running[-1], shared, len(tokens)])
+             rows.append([self.running[-1], 0, len(tokens)])
""",
}
