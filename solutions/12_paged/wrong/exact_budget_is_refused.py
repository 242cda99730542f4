"""A step computes fewer tokens than max_tokens, never as many.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-             if len(tokens) - shared > budget:
+             if len(tokens) - shared >= budget:
""",
}
