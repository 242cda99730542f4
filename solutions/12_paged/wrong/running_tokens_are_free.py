"""The tokens of running requests do not count against max_tokens.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-         budget = self.max_tokens - len(rows)
+         budget = self.max_tokens
""",
}
