"""Partial sums are rounded to the dtype of x before torch adds them up.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-     x, packed, scale, zero, y, num_out, width, group, OUTS: tl.constexpr, BYTES: tl.constexpr
+     x, packed, scale, zero, part, rows, num_out, width, group,
+     SPLIT: tl.constexpr, OUTS: tl.constexpr, BYTES: tl.constexpr,
...
      out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[:, None]
+     split = tl.program_id(2)
      acc = tl.zeros([OUTS, BYTES], tl.float32)
-     for start in range(0, width // 2, BYTES):
+     for start in range(split * BYTES, width // 2, SPLIT * BYTES):
...
-     tl.store(y + row * num_out + out, total, mask=out < num_out)
+     tl.store(part + (split * rows + row) * num_out + out, total, mask=out < num_out)
""",
}


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out, split = x.shape[0], packed.shape[0], 4
    part = torch.empty(split, rows, num_out, dtype=x.dtype, device=x.device)
    grid = (rows, triton.cdiv(num_out, 32), split)
    given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), part)
    matmul_kernel[grid](*given, rows, num_out, x.shape[1], group, SPLIT=split, OUTS=32, BYTES=32)
    return part.sum(0)
