"""Causal: of the rank's own tokens later ones are seen too.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             if causal and source == rank:
+             if causal and source > rank:
""",
}
