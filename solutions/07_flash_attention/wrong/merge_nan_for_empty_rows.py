"""A row that saw nothing on either side becomes NaN: -inf minus -inf.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     safe = lse.masked_fill(lse == -math.inf, 0.0)
-     weight1, weight2 = (torch.exp(part.float() - safe)[..., None] for part in (lse1, lse2))
+     weight1, weight2 = (torch.exp(part.float() - lse)[..., None] for part in (lse1, lse2))
""",
}
