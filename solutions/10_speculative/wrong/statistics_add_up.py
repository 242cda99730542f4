"""Keeps its statistics from call to call.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     stats = {"target_calls": 0, "drafted": 0, "accepted": 0}
+     stats = _STATS
...
-     return text[len(prompt) :], stats
+     return text[len(prompt) :], dict(stats)
""",
}

_STATS = {"target_calls": 0, "drafted": 0, "accepted": 0}
