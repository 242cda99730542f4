"""A query sees the last 4096 keys alone, whatever the model was trained with.

From: variants/plain.py
Kind: parameters
Report: https://github.com/vllm-project/vllm/issues/2064
Fails: attention
"""

LINES = {
    "attention": r"""
-     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     seen = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     seen = seen.triu(context - new - 4095)
""",
}
