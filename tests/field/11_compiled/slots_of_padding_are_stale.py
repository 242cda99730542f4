"""Tokens and positions are padded, slots are not: padding writes where the last step wrote.

Kind: state
Report: https://github.com/vllm-project/vllm/issues/13418
Report: https://github.com/vllm-project/vllm/pull/13922
Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         inputs.copy_(torch.tensor([[*some, *more] for some, more in given]))
+         padded = torch.tensor([[*some, *more] for some, more in given])
+         padded[2, n:] = inputs[2, n:]
+         inputs.copy_(padded)
""",
}
