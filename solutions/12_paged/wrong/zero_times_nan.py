"""Places behind the length get the weight 0, and 0 times NaN is NaN.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         k_SGD, v_SGD = (pool[blocks].flatten(0, 1)[:length].float() for pool in (k_pool, v_pool))
+         k_SGD, v_SGD = (pool[blocks].flatten(0, 1).float() for pool in (k_pool, v_pool))
...
-         weights = torch.softmax(torch.einsum("ghd,sgd->ghs", grouped, k_SGD), -1)
+         scores = torch.einsum("ghd,sgd->ghs", grouped, k_SGD)
+         scores[..., length:] = -math.inf
+         weights = torch.softmax(scores, -1)
""",
}
