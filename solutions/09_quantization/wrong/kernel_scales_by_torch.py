"""The kernel adds up codes, and torch scales each group's sum.

From: variants/simple.py
Fails: kernel, speed
"""


@triton.jit
def matmul_kernel(
    x, packed, zero, part, num_out, width, group, groups, OUTS: tl.constexpr, COLUMNS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)
    index = tl.program_id(2)
    acc = tl.zeros([OUTS], tl.float32)
    z = tl.load(zero + out * groups + index, mask=out < num_out, other=0).to(tl.float32)
    for start in range(0, group, COLUMNS):
        inside = start + tl.arange(0, COLUMNS)
        column = index * group + inside
        mask = (out < num_out)[:, None] & (inside < group)[None, :]
        both = tl.load(
            packed + out[:, None] * (width // 2) + column[None, :] // 2, mask=mask, other=0
        )
        code = ((both >> (4 * (column % 2))[None, :]) & 15).to(tl.float32) - z[:, None]
        value = tl.load(x + row * width + column, mask=inside < group, other=0.0).to(tl.float32)
        acc += tl.sum(code * value[None, :], 1)
    tl.store(part + (row * num_out + out) * groups + index, acc, mask=out < num_out)


def int4_matmul(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    (rows, width), num_out, groups = x.shape, packed.shape[0], scale.shape[1]
    part = torch.empty(rows, num_out, groups, device=x.device)
    grid = (rows, triton.cdiv(num_out, 32), groups)
    given = (x.contiguous(), packed.contiguous(), zero.contiguous(), part)
    matmul_kernel[grid](*given, num_out, width, group, groups, OUTS=32, COLUMNS=64)
    return (part * scale).sum(2).to(x.dtype)
