"""Query t sees keys up to t also when T < S.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril()
""",
}
