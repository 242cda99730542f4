"""Kernels that go over elements and rows; each case returns what it got and what it wants."""

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def vector_add():
    x, y = torch.randn(2, 1003)
    out = torch.empty_like(x)
    _add[(triton.cdiv(1003, 128),)](x, y, out, 1003, BLOCK=128)
    return out, x + y


def add_in_place():
    x, y = torch.randn(2, 300)
    want = x + y
    _add[(3,)](x, y, x, 300, BLOCK=128)
    return x, want


def add_of_one_tensor_to_itself():
    x = torch.randn(200)
    out = torch.empty(300)[50:250]
    _add[(2,)](x, x, out, 200, BLOCK=128)
    return out, 2 * x


@triton.jit
def _softmax(x, out, rows, width, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * stride + at, mask=at < width, other=-float("inf"))
        weight = tl.exp(value - tl.max(value, axis=0))
        tl.store(out + row * width + at, weight / tl.sum(weight, axis=0), mask=at < width)


def softmax_by_few_programs():
    x = torch.randn(23, 100)[:, 3:90]
    out = torch.empty(23, 87)
    _softmax[(4,)](x, out, 23, 87, x.stride(0), BLOCK=128)
    return out, x.softmax(1)


def softmax_in_place():
    x = torch.randn(9, 50)
    want = x.softmax(1)
    _softmax[(9,)](x, x, 9, 50, 50, BLOCK=64)
    return x, want


@triton.jit
def _dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(keep, value / (1 - p), 0.0), mask=at < n)


def dropout_by_seed():
    x = torch.ones(500)
    first, second = torch.empty_like(x), torch.empty_like(x)
    _dropout[(4,)](x, first, 500, 0.25, 7, BLOCK=128)
    _dropout[(8,)](x, second, 500, 0.25, 7, BLOCK=64)
    return first, second


@triton.jit
def _copy(x, out, height, width, x_r, x_c, out_r, out_c, TALL: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)[:, None]
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]
    inside = (row < height) & (column < width)
    value = tl.load(x + row * x_r + column * x_c, mask=inside)
    tl.store(out + row * out_r + column * out_c, value, mask=inside)


def views_of_all_kinds():
    wants, gots = [], []
    for x in (
        torch.randn(7, 5).T,
        torch.randn(5, 14)[:, ::2],
        torch.randn(5, 1).expand(5, 7),
        torch.randn(9, 9)[2:7, 1:8],
        torch.randn(7, 12)[:, 3:8].T,
        torch.randn(5, 7).bfloat16(),
    ):
        out = torch.empty(8, 6, dtype=x.dtype)[1:, :5].T
        _copy[(3, 2)](x, out, 5, 7, *x.stride(), *out.stride(), TALL=2, WIDE=4)
        gots.append(out.float().flatten())
        wants.append(x.float().flatten())
    return torch.cat(gots), torch.cat(wants)


def transpose_out_of_place():
    x = torch.randn(40, 33)
    out = torch.empty(33, 40)
    _copy[(3, 3)](x, out, 40, 33, 33, 1, 1, 40, TALL=16, WIDE=16)
    return out, x.T


@triton.jit
def _pair(x, high, low, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(high + at, tl.maximum(value, 0.0), mask=at < n)
    tl.store(low + at, tl.minimum(value, 0.0), mask=at < n)


def two_outputs_in_one_storage():
    x = torch.randn(37)
    high, low = torch.empty(2, 37)
    _pair[(5,)](x, high, low, 37, BLOCK=8)
    return high + low, x


def columns_of_one_storage_in_turn():
    x = torch.randn(37)
    out = torch.empty(37, 2)
    high, low = out.unbind(1)
    _strided_pair[(5,)](x, high, low, 37, 2, BLOCK=8)
    return out.sum(1), x


@triton.jit
def _strided_pair(x, high, low, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(high + at * stride, tl.maximum(value, 0.0), mask=at < n)
    tl.store(low + at * stride, tl.minimum(value, 0.0), mask=at < n)


@triton.jit
def _masked_sum(x, out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * width + at, mask=at < width)
    tl.store(out + row, tl.sum(tl.where(at < width, value, 0.0), axis=0))


def hidden_lanes_replaced_after_the_load():
    x = torch.randn(5, 11)
    out = torch.empty(5)
    _masked_sum[(5,)](x, out, 11, BLOCK=16)
    return out, x.sum(1)


@triton.jit
def _far_rows(x, out, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + at, tl.load(x + row * stride + at))


def offsets_beyond_int32():
    x = torch.empty_strided((3, 8), (1 << 30, 1), dtype=torch.int8)
    x.copy_(torch.arange(24).view(3, 8))
    out = torch.empty(3, 8, dtype=torch.int8)
    _far_rows[(3,)](x, out, x.stride(0), BLOCK=8)
    return out, torch.arange(24).view(3, 8)


@triton.jit
def _hash(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mixed = (at * 1103515245 + 12345) & 7
    tl.store(out + at, tl.load(x + mixed, mask=at < n), mask=at < n)


def products_that_wrap_on_purpose():
    x, at = torch.arange(8.0), torch.arange(40)
    out = torch.empty(40)
    _hash[(5,)](x, out, 40, BLOCK=8)
    return out, x[(at * 1103515245 + 12345) & 7]


@triton.jit
def _permute(x, to, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(to + at, mask=at < n, other=0)
    tl.store(out + place, tl.load(x + at, mask=at < n), mask=at < n)


def scatter_by_a_permutation():
    x, to = torch.randn(50), torch.randperm(50)
    out = torch.empty(50)
    _permute[(4,)](x, to, out, 50, BLOCK=16)
    return out[to], x


@triton.jit
def _same_lanes(x, out, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.max(tl.load(x + row * BLOCK + tl.arange(0, BLOCK)), axis=0)
    tl.store(out + row + tl.zeros((BLOCK,), tl.int32), top + tl.zeros((BLOCK,), tl.float32))


def lanes_that_store_one_value():
    x = torch.randn(4, 16)
    out = torch.empty(4)
    _same_lanes[(4,)](x, out, BLOCK=16)
    return out, x.amax(1)


@triton.jit
def _rmsnorm(x, weight, out, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * width + at, mask=at < width, other=0.0).to(tl.float32)
        lanes += value * value
    scale = tl.rsqrt(tl.sum(lanes, axis=0) / width + eps)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * width + at, mask=at < width).to(tl.float32)
        gain = tl.load(weight + at, mask=at < width)
        tl.store(out + row * width + at, value * scale * gain, mask=at < width)


def rms_norm_of_long_rows():
    x, weight = torch.randn(6, 150).bfloat16(), torch.randn(150)
    out = torch.empty(6, 150)
    _rmsnorm[(6,)](x, weight, out, 150, 1e-5, BLOCK=64)
    return out, torch.nn.functional.rms_norm(x.float(), (150,), weight, 1e-5)
