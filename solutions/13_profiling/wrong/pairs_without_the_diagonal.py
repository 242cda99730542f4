"""A query does not see its own key.

Fails: flops
"""

LINES = {
    "causal_pairs": r"""
-     return new * context - new * (new - 1) // 2
+     return new * context - new * (new + 1) // 2
""",
}
