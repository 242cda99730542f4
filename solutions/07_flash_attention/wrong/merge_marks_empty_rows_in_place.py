"""-inf in the second lse is replaced in place by a large negative number.

From: variants/simple.py
Fails: merge
"""

LINES = {
    "merge": r"""
-     lse = torch.logaddexp(lse1.float(), lse2.float())
+     lse = torch.logaddexp(lse1.float(), lse2.float())
+     lse2[lse2 == -math.inf] = -3.0e38
""",
}
