"""Two programs take each row and write the same numbers to the same place: a race all the same.

From: variants/passes.py
Fails: forward, speed
"""

LINES = {
    "forward_kernel": r"""
-     row = tl.program_id(0).to(tl.int64)
+     row = (tl.program_id(0) // 2).to(tl.int64)
""",
    "layer_norm_forward": r"""
-         forward_kernel[(num_rows,)](
+         forward_kernel[(2 * num_rows,)](
""",
}
