"""A step computes fewer than max_tokens tokens.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-             if len(tokens) - shared > budget:
+             if len(tokens) - shared >= budget:
""",
}
