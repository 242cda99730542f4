"""Two programs share a row of W, and each adds its half of the sum by a load and a store.

From: variants/simple.py
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-     for start in range(0, width // 2, BYTES):
+     for start in range(tl.program_id(2) * BYTES, width // 2, 2 * BYTES):
...
-     tl.store(y + row * num_out + out, total, mask=out < num_out)
+     place = y + row * num_out + out
+     tl.store(place, tl.load(place, mask=out < num_out) + total, mask=out < num_out)
""",
    "int4_matmul": r"""
-     y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
+     y = torch.zeros(rows, num_out, dtype=torch.float32, device=x.device)
-     grid = (rows, triton.cdiv(num_out, 32))
+     grid = (rows, triton.cdiv(num_out, 32), 2)
...
-     return y
+     return y.to(x.dtype)
""",
}
