"""merge takes a side for empty by its lse alone and hands back the other one's numbers, dtype and all.

Kind: contracts
Report: https://github.com/vllm-project/vllm/pull/28181
Fails: merge
"""

LINES = {
    "merge": r"""
+     if bool((lse2 == -math.inf).all()):
+         return o1.clone(), lse1.clone()
+     if bool((lse1 == -math.inf).all()):
+         return o2.clone(), lse2.clone()
      top = torch.maximum(lse1, lse2)
""",
}
