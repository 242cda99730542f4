"""The kernel has one block of rows: those beyond 128 are never computed.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     grid = (rows, triton.cdiv(num_out, 32))
+     grid = (min(rows, 128), triton.cdiv(num_out, 32))
""",
}
