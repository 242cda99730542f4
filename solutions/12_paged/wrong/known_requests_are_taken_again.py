"""A request that is known is taken once more.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if request in self._requests:
-             raise ValueError(f"request {request} is known already")
""",
}
