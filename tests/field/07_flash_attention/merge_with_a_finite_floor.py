"""merge holds the larger lse at no less than -1e4 so that nothing is NaN: rows below it are lost.

Kind: levels
Report: https://github.com/vllm-project/vllm/issues/27491
Report: https://github.com/vllm-project/vllm/pull/39148
Fails: merge
"""

LINES = {
    "merge": r"""
-     top = torch.where(top == -math.inf, 0.0, top)  # -inf minus -inf would be NaN
+     top = top.clamp(min=-10_000.0)
""",
}
