"""merge takes an lse for a logarithm in base two: long prefixes weigh too little.

Kind: contracts
Report: https://github.com/sgl-project/sglang/issues/40903
Fails: merge
"""

LINES = {
    "merge": r"""
-     w1, w2 = torch.exp(lse1 - top), torch.exp(lse2 - top)
+     w1, w2 = torch.exp2(lse1 - top), torch.exp2(lse2 - top)
...
-     return o.to(o1.dtype), top + torch.log(total)
+     return o.to(o1.dtype), top + torch.log2(total)
""",
}
