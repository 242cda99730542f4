"""Products of few bits: int8 on tensor cores, packed words by shifts, blocks with their scales."""

import torch
import triton
import triton.language as tl


@triton.jit
def _int8_product(
    x, w, x_scale, w_scale, y, rows, outs, width, SIDE: tl.constexpr, DEEP: tl.constexpr
):
    """Sums are int32; scales come last, one for each row of x and of w."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    out = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.int32)
    for start in range(0, width, DEEP):
        at = start + tl.arange(0, DEEP)
        inside = at[None, :] < width
        left = tl.load(
            x + row[:, None] * width + at[None, :], mask=(row[:, None] < rows) & inside, other=0
        )
        right = tl.load(
            w + out[:, None] * width + at[None, :], mask=(out[:, None] < outs) & inside, other=0
        )
        acc = tl.dot(left, tl.trans(right), acc, out_dtype=tl.int32)
    scale = tl.load(x_scale + row, mask=row < rows, other=0.0)[:, None]
    scale = scale * tl.load(w_scale + out, mask=out < outs, other=0.0)[None, :]
    place = y + row[:, None] * outs + out[None, :]
    tl.store(place, acc * scale, mask=(row[:, None] < rows) & (out[None, :] < outs))


def int8_product_with_scales_of_rows():
    x, w = (torch.randint(-127, 128, (n, 70), dtype=torch.int8) for n in (19, 37))
    x_scale, w_scale, y = torch.rand(19), torch.rand(37), torch.empty(19, 37)
    _int8_product[(2, 3)](x, w, x_scale, w_scale, y, 19, 37, 70, SIDE=16, DEEP=32)
    return y, (x.float() * x_scale[:, None]) @ (w.float() * w_scale[:, None]).T


@triton.jit
def _word_product(
    x, words, scale, y, rows, outs, width, SIDE: tl.constexpr, WORDS: tl.constexpr
):  # fmt: skip
    """A word holds four int8; rows beyond the edge read the last one again and are not stored."""
    out = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    row = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    here, there = tl.minimum(out, outs - 1), tl.minimum(row, rows - 1)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, width // 4, WORDS):
        at, column = start + tl.arange(0, WORDS), start * 4 + tl.arange(0, WORDS * 4)
        inside = (at < width // 4)[None, :]
        word = tl.load(words + here[:, None] * (width // 4) + at[None, :], mask=inside, other=0)
        even = tl.join((word << 24) >> 24, (word << 8) >> 24)
        odd = tl.join((word << 16) >> 24, word >> 24)
        code = tl.reshape(tl.join(even, odd), (SIDE, WORDS * 4)).to(tl.float32)
        inside = (column < width)[None, :]
        value = tl.load(x + there[:, None] * width + column[None, :], mask=inside, other=0.0)
        acc = tl.dot(code, tl.trans(value), acc, input_precision="ieee")
    acc *= tl.load(scale + here)[:, None]
    place = y + row[None, :] * outs + out[:, None]
    tl.store(place, acc, mask=(row < rows)[None, :] & (out < outs)[:, None])


def int8_codes_in_words():
    x, codes = torch.randn(5, 72), torch.randint(-127, 128, (37, 72), dtype=torch.int8)
    scale, y = torch.rand(37), torch.empty(5, 37)
    _word_product[(3, 1)](x, codes.view(torch.int32), scale, y, 5, 37, 72, SIDE=16, WORDS=8)
    return y, x @ (codes.float() * scale[:, None]).T


@triton.jit
def _block_scaled(
    a, a_scale, b, b_scale, c, m, n, k,
    FORM: tl.constexpr, PER_BYTE: tl.constexpr, SIDE: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """Each 32 numbers of a row of a, or of a column of b, share a power of two."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, k, DEEP):
        byte = start // PER_BYTE + tl.arange(0, DEEP // PER_BYTE)
        group = start // 32 + tl.arange(0, DEEP // 32)
        left = tl.load(
            a + row[:, None] * (k // PER_BYTE) + byte[None, :], mask=row[:, None] < m, other=0
        )
        right = tl.load(
            b + column[None, :] * (k // PER_BYTE) + byte[:, None], mask=column[None, :] < n, other=0
        )
        left_scale = tl.load(
            a_scale + row[:, None] * (k // 32) + group[None, :], mask=row[:, None] < m, other=127
        )
        right_scale = tl.load(
            b_scale + column[:, None] * (k // 32) + group[None, :],
            mask=column[:, None] < n,
            other=127,
        )
        acc = tl.dot_scaled(left, left_scale, FORM, right, right_scale, FORM, acc)
    place = c + row[:, None] * n + column[None, :]
    tl.store(place, acc, mask=(row[:, None] < m) & (column[None, :] < n))


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _scaled_product(form, per_byte, values):
    """``values`` makes a matrix of rows of bytes, and what they stand for."""
    (a, left), (b, right) = values(19, 128), values(37, 128)
    scales = [torch.randint(125, 130, (rows, 4), dtype=torch.uint8) for rows in (19, 37)]
    c = torch.empty(19, 37)
    sizes = {"FORM": form, "PER_BYTE": per_byte, "SIDE": 16, "DEEP": 64}
    _block_scaled[(2, 3)](a, scales[0], b, scales[1], c, 19, 37, 128, **sizes)
    factors = [torch.exp2(scale.float() - 127).repeat_interleave(32, 1) for scale in scales]
    return c, (left * factors[0]) @ (right * factors[1]).T


def block_scaled_product_of_fp8():
    def values(rows, width):
        numbers = torch.randn(rows, width).to(torch.float8_e4m3fn)
        return numbers.view(torch.uint8), numbers.float()

    return _scaled_product("e4m3", 1, values)


def block_scaled_product_of_fp4():
    def values(rows, width):
        codes = torch.randint(0, 16, (rows, width))
        numbers = E2M1[codes & 7] * torch.where(codes > 7, -1, 1)
        return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8), numbers

    return _scaled_product("e2m1", 2, values)
