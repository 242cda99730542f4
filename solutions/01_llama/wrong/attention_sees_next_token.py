"""The diagonal is one too far right: each query sees the next key.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new + 1)
""",
}
