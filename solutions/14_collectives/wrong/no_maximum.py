"""exp is taken of the scores themselves.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             highest = torch.maximum(top, scores.amax(-1, keepdim=True))
+             highest = torch.zeros_like(top)
...
-             shrink = (top - highest).exp()
+             shrink = torch.ones_like(top)
""",
}
