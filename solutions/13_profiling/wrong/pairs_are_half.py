"""Half of all pairs are taken to be masked.

Fails: flops
"""

LINES = {
    "causal_pairs": r"""
-     return new * context - new * (new - 1) // 2
+     return new * context // 2
""",
}
