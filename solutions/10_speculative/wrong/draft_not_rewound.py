"""Leaves rejected guesses in the draft's cache.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         for model in (target, draft):
+         for model in (target,):
""",
}
