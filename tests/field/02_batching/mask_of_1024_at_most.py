"""What lies behind a query is cut out of a mask made once, which ends at 1024 tokens.

Kind: sizes
Report: https://github.com/QwenLM/Qwen/issues/478
Report: https://github.com/huggingface/transformers/pull/29263
Fails: mask
"""

_SEEN = torch.ones(1024, 1024, dtype=torch.bool).tril()

LINES = {
    "causal_mask": r"""
-     return (real.tril() | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
+     seen = real & _SEEN[: valid.shape[1], : valid.shape[1]].to(valid.device)
+     return (seen | torch.eye(valid.shape[1], dtype=torch.bool, device=valid.device))[:, None]
""",
}
