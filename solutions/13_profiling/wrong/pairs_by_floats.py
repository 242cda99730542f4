"""Pairs are divided as floats.

Fails: flops
"""

LINES = {
    "causal_pairs": r"""
-     return new * context - new * (new - 1) // 2
+     return int(new * (context - (new - 1) / 2))
""",
}
