"""The result of the kernel is float32.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "int4_matmul": r"""
-     y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
+     y = torch.empty(rows, num_out, dtype=torch.float32, device=x.device)
""",
}
