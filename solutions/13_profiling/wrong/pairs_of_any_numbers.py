"""Pairs of no queries, or of more queries than keys, are counted.

Fails: flops
"""

LINES = {
    "causal_pairs": r"""
-     _check_step(1, new, context)
""",
}
