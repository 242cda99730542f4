"""Leaves rejected guesses in both caches.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         for model in (target, draft):
-             model.rewind(max(0, model.length - len(text) - accepted))
""",
}
