"""repetition_penalty divides negative logits too, which makes them likelier.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
-     penalized = torch.where(scores < 0, scores * penalty, scores / penalty)
+     penalized = scores / penalty
""",
}
