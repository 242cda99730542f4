"""Pays for k + 1 calls of the draft a round.

Fails: speedup
"""

LINES = {
    "expected_speedup": r"""
-     return tokens / (k * cost_ratio + 1)
+     return tokens / ((k + 1) * cost_ratio + 1)
""",
}
