"""Positions go through bfloat16, in which 257 is 256 and far tokens share a place.

Kind: precision
Report: https://github.com/huggingface/transformers/issues/25681
Report: https://github.com/NVIDIA/Megatron-LM/issues/535
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     return tokens_BT, (valid_BT.cumsum(-1) - 1).clamp(min=0), valid_BT
+     return tokens_BT, (valid_BT.cumsum(-1) - 1).clamp(min=0).bfloat16().long(), valid_BT
""",
}
