"""Causal: every chunk that is seen is masked as if it were the rank's own.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             if causal and source == rank:
+             if causal:
""",
}
