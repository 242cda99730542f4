"""The mask is made of numbers of the weights' dtype: bfloat16 has no 257.

Kind: precision
Report: https://github.com/EleutherAI/gpt-neox/pull/1016
Report: https://github.com/huggingface/transformers/pull/29285
Fails: step
"""

LINES = {
    "_forward": r"""
-     keys = torch.arange(cache.max_len, device=positions.device)
-     mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
+     dtype = cache.keys[0].dtype
+     keys = torch.arange(cache.max_len, device=positions.device).to(dtype)
+     mask = (keys <= positions.unsqueeze(-1).to(dtype)).unsqueeze(1)  # [B, 1, T, max_len]
""",
}
