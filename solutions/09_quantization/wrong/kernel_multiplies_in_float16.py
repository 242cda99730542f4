"""The kernel multiplies bfloat16 in float16, and overflows.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-     x, packed, scale, zero, y, num_out, width, group, OUTS: tl.constexpr, BYTES: tl.constexpr
+     x, packed, scale, zero, y, num_out, width, group, OUTS: tl.constexpr, BYTES: tl.constexpr,
+     DTYPE: tl.constexpr,
...
-             acc += value.to(tl.float32) * (code - z) * s
+             weight = ((code - z) * s).to(DTYPE)
+             acc += value.to(DTYPE).to(tl.float32) * weight.to(tl.float32)
""",
    "int4_matmul": r"""
-         matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
+         matmul_kernel[grid](
+             *given, num_out, x.shape[1], group, OUTS=32, BYTES=128,
+             DTYPE=tl.float32 if x.dtype == torch.float32 else tl.float16,
+         )
""",
}
