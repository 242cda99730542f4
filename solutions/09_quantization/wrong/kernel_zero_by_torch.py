"""The kernel leaves the zeros out; torch takes them away by a product of its own.

From: variants/simple.py
Fails: kernel, speed
"""

LINES = {
    "matmul_kernel": r"""
-             z = tl.load(zero + place, mask=mask, other=0).to(tl.float32)
              value = tl.load(x + row * width + column, mask=column < width, other=0.0)
              code = ((both >> (4 * half)) & 15).to(tl.float32)
-             acc += value.to(tl.float32) * (code - z) * s
+             acc += value.to(tl.float32) * code * s
""",
}


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    rows, num_out = x.shape[0], packed.shape[0]
    y = torch.empty(rows, num_out, device=x.device)
    grid = (rows, triton.cdiv(num_out, 32))
    given = (x.contiguous(), packed.contiguous(), scale.contiguous(), zero.contiguous(), y)
    matmul_kernel[grid](*given, num_out, x.shape[1], group, OUTS=32, BYTES=128)
    sums = x.float().unflatten(1, (-1, group)).sum(2)
    return (y - sums @ (scale * zero).T).to(x.dtype)
