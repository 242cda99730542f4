"""top_k keeps all that reach the k-th logit, so ties keep more than k.

Fails: filters
"""

LINES = {
    "top_k": r"""
-     return _remove(logits, order, torch.arange(logits.shape[1], device=logits.device) >= k)
+     least = logits.gather(-1, order)[:, min(k, logits.shape[1]) - 1, None]
+     return logits.masked_fill(logits < least, -inf)
""",
}
