"""The first query is put on the first key.

Fails: flops
"""

LINES = {
    "causal_pairs": r"""
-     return new * context - new * (new - 1) // 2
+     return new * (new + 1) // 2
""",
}
