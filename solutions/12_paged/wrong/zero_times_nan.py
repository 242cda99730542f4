"""Places behind the length get the weight 0, and 0 times NaN is NaN.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         keys, values = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         keys, values = (pool[blocks].flatten(0, 1).float() for pool in (k_pool, v_pool))
...
-         weights = torch.softmax(torch.einsum("ghd,sgd->ghs", grouped, keys), -1)
+         scores = torch.einsum("ghd,sgd->ghs", grouped, keys)
+         scores[..., length:] = -math.inf
+         weights = torch.softmax(scores, -1)
""",
}
