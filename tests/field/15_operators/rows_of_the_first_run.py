"""The fake of int4_linear takes the number of rows for a constant: that of the run that was compiled.

Kind: contracts
Report: https://github.com/vllm-project/vllm-ascend/issues/11006
Report: https://github.com/vllm-project/vllm-ascend/pull/11345
Fails: fake
"""

LINES = {
    "_fake_int4": r"""
-     return _new(x, x.shape[0], packed.shape[0])
+     return _new(x, int(x.shape[0]), packed.shape[0])
""",
}
