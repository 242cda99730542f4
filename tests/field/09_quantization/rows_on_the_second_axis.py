"""Rows of x lie on axis 1 of the grid: a long prompt is an invalid launch.

From: variants/simple.py
Kind: launches
Report: https://github.com/lablup/mlxcel/issues/648
Report: https://github.com/EricLBuehler/candle-vllm/issues/237
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-     row = tl.program_id(0).to(tl.int64)
-     out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[:, None]
+     row = tl.program_id(1).to(tl.int64)
+     out = tl.program_id(0).to(tl.int64) * OUTS + tl.arange(0, OUTS)[:, None]
...
-     out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)
+     out = tl.program_id(0).to(tl.int64) * OUTS + tl.arange(0, OUTS)
""",
    "int4_matmul": r"""
-     grid = (rows, triton.cdiv(num_out, 32))
+     grid = (triton.cdiv(num_out, 32), rows)
""",
}
