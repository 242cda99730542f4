"""What can never be served is taken, and blocks all behind it.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if len(prompt) + max_new_tokens > self._capacity:
-             raise ValueError(f"prompt and answer do not fit into {self._capacity} tokens")
""",
}
