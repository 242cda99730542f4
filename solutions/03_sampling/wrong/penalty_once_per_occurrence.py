"""An id that was said three times is penalized three times.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
-     penalized = torch.where(scores < 0, scores * penalty, scores / penalty)
+     counts = torch.stack(
+         [torch.bincount(torch.tensor(t, dtype=torch.int64), minlength=vocab) for t in history]
+     )
+     factors = penalty ** counts.to(logits.device)
+     penalized = torch.where(scores < 0, scores * factors, scores / factors)
""",
}
