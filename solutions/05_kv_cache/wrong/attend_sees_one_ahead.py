"""A query sees the key behind its own.

Fails: attend, generate
"""

LINES = {
    "attend": r"""
-     causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new + 1)
""",
}
