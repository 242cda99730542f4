"""Draws walk along a sum in bfloat16, which stands still long before the tail has been added.

Kind: precision
Report: https://github.com/NVIDIA/Megatron-LM/pull/7182
Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
-         return logits.float().softmax(-1).multinomial(1, generator=generator)[:, 0]
+         sums = logits.float().softmax(-1).bfloat16().cumsum(-1).float()
+         spots = torch.rand(len(sums), 1, generator=generator) * sums[:, -1:]
+         return torch.searchsorted(sums, spots, right=True)[:, 0].clamp(max=sums.shape[1] - 1)
""",
}
