"""Who has ended stays in running until the next plan.

Fails: scheduler
"""

LINES = {
    "Scheduler.commit": r"""
-                 self.running.remove(request)
""",
    "Scheduler.plan": r"""
          rows: list[list[int]] = []
+         known = self._blocks._sequences
+         self.running = [request for request in self.running if request in known]
""",
}
