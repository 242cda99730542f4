"""add looks at the length of the prompt alone.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if len(prompt) + max_new_tokens > self._capacity:
+         if len(prompt) > self._capacity:
""",
}
