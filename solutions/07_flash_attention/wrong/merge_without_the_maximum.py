"""exp of each lse itself: it overflows near 100 and vanishes near -100.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     lse = torch.logaddexp(lse1.float(), lse2.float())
+     lse = torch.log(torch.exp(lse1.float()) + torch.exp(lse2.float()))
""",
}
