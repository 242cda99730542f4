"""Calls of one shape share the tensor of their result.

From: variants/simple.py
Fails: kernel, speed
"""

KEPT: dict[object, Tensor] = {}

LINES = {
    "int4_matmul": r"""
-     y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
+     key = rows, num_out, x.dtype
+     y = KEPT.setdefault(key, torch.empty(rows, num_out, dtype=x.dtype, device=x.device))
""",
}
