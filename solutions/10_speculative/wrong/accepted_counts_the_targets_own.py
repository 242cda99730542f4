"""Counts the target's own token of each round as accepted.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         stats["accepted"] += accepted
+         stats["accepted"] += len(new)
""",
}
