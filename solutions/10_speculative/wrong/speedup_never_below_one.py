"""Takes it that speculation never costs time.

Fails: speedup
"""

LINES = {
    "expected_speedup": r"""
-     return tokens / (k * cost_ratio + 1)
+     return max(1.0, tokens / (k * cost_ratio + 1))
""",
}
