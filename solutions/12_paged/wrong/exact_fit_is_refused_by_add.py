"""add refuses what fits exactly.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if len(prompt) + max_new_tokens > self._capacity:
+         if len(prompt) + max_new_tokens >= self._capacity:
""",
}
