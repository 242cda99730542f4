"""Rows of newcomers stand before those of running requests.

Fails: scheduler
"""

LINES = {
    "Scheduler.plan": r"""
          if not preempted:
              self._admit(rows)
+         rows.sort(key=lambda row: row[2] - row[1], reverse=True)
""",
}
