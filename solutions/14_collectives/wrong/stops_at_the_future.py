"""Causal: the rank leaves the ring once all that is left is not for its eyes.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-         if step < world - 1:
+         if causal and step >= rank:
+             break
+         if step < world - 1:
""",
}
