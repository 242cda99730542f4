"""At most one request is admitted in a step.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
              rows.append([self.running[-1], shared, len(tokens)])
+             break
""",
}
