"""A query sees the last 4096 keys alone, whatever the model was trained with.

Kind: parameters
Report: https://github.com/vllm-project/vllm/issues/2064
Fails: attend
"""

LINES = {
    "attend": r"""
-     causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
+     causal = causal.triu(context - new - 4095)
""",
}
