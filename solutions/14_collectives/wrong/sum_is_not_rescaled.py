"""The sum so far is not shrunk when the maximum rises.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             mass = mass * shrink + weights.sum(-1, keepdim=True)
+             mass = mass + weights.sum(-1, keepdim=True)
""",
}
