"""Rows times stride in int32, forward and backward: what lies past 2**31 elements is read elsewhere.

From: variants/simple.py
Kind: addresses
Report: https://github.com/linkedin/Liger-Kernel/pull/804
Report: https://github.com/linkedin/Liger-Kernel/issues/1483
Fails: forward, backward
"""

LINES = {
    "forward_kernel": r"""
-     row = tl.program_id(0).to(tl.int64)
+     row = tl.program_id(0)
""",
    "backward_kernel": r"""
-     program = tl.program_id(0).to(tl.int64)
+     program = tl.program_id(0)
""",
}
