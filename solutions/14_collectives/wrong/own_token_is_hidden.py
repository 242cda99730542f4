"""Causal: a token does not see itself, unless there is nothing else.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-     future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
+     future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(0)
+     future[0, 0] = False
""",
}
