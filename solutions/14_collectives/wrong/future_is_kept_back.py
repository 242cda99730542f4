"""Causal: what the rank may not see it does not pass on.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-         if step < world - 1:
+         if step < world - 1 and not (causal and source > rank):
""",
}
