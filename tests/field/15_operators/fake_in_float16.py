"""The fake of int4_linear is float16, whatever x is.

Kind: contracts
Report: https://github.com/vllm-project/vllm-gguf-plugin/pull/82
Fails: fake
"""

LINES = {
    "_fake_int4": r"""
-     return _new(x, x.shape[0], packed.shape[0])
+     rows = x.shape[0], packed.shape[0]
+     return torch.empty(rows, dtype=torch.float16, device=x.device)
""",
}
