"""The result so far is not shrunk when the maximum rises.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             out = out * shrink + weights @ values
+             out = out + weights @ values
""",
}
