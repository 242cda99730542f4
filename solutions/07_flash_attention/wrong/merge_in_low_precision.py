"""lse is rounded to the dtype of o before the weights are taken.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     lse = torch.logaddexp(lse1.float(), lse2.float())
+     lse = torch.logaddexp(lse1.to(o1.dtype), lse2.to(o1.dtype)).float()
""",
}
