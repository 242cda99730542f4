"""Two programs take each block of rows and write the same o and lse: a race all the same.

From: variants/simple.py
Fails: triton, varlen
"""

LINES = {
    "_forward": r"""
-     pid = tl.program_id(0)
+     pid = tl.program_id(0) // 2
""",
    "flash_attention": r"""
-     _forward[(row_blocks * B * H,)](
+     _forward[(2 * row_blocks * B * H,)](
""",
    "flash_attention_varlen": r"""
-     _forward[(row_blocks * B * H,)](
+     _forward[(2 * row_blocks * B * H,)](
""",
}
