"""min_p keeps what is more than p times as probable: with p = 1 nothing is left.

Fails: filters
"""

LINES = {
    "min_p": r"""
-     return logits.masked_fill(probabilities < p * best, -inf)
+     return logits.masked_fill(probabilities <= p * best, -inf)
""",
}
