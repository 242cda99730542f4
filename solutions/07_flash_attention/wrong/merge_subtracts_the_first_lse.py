"""The first lse is subtracted before exp, not the larger one: a second far above it overflows.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     lse = torch.logaddexp(lse1.float(), lse2.float())
+     ratio = torch.exp(lse2.float() - lse1.float())
+     lse = lse1.float() + torch.log(1 + ratio)
""",
}
