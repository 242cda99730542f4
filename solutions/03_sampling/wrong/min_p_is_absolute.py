"""min_p compares with p itself and not with p times the best.

Fails: filters
"""

LINES = {
    "min_p": r"""
-     return logits.masked_fill(probabilities < p * best, -inf)
+     return logits.masked_fill((probabilities < p) & (probabilities < best), -inf)
""",
}
