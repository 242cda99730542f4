"""Results of chunks are averaged, without their weights.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             mass = mass * shrink + weights.sum(-1, keepdim=True)
-             out = out * shrink + weights @ values
+             mass = mass + 1
+             out = out + weights @ values / weights.sum(-1, keepdim=True)
""",
}
