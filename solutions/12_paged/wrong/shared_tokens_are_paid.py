"""Tokens that are shared count against max_tokens.

Fails: scheduler
"""

LINES = {
    "Scheduler._admit": r"""
-             if len(tokens) - shared > budget:
+             if len(tokens) > budget:
...
-             budget -= len(tokens) - shared
+             budget -= len(tokens)
""",
}
