"""Batch times heads lies on axis 1 of the grid: 65,536 of them are an invalid launch.

From: variants/simple.py
Kind: launches
Report: https://github.com/triton-lang/triton/issues/3299
Report: https://github.com/fla-org/flash-linear-attention/issues/172
Fails: triton, varlen
"""

LINES = {
    "_forward": r"""
-     pid = tl.program_id(0)
+     pid = tl.program_id(1) * row_blocks + tl.program_id(0)
""",
    "flash_attention": r"""
-     _forward[(row_blocks * B * H,)](
+     _forward[(row_blocks, B * H)](
""",
    "flash_attention_varlen": r"""
-     _forward[(row_blocks * B * H,)](
+     _forward[(row_blocks, B * H)](
""",
}
