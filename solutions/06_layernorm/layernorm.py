"""Lab 06, model answer: a row lives in registers between its statistics and its use.

Rows of up to 32768 columns are read once. Longer ones are read twice, the second time mostly from
the L2 cache. Backward keeps dweight and dbias in registers over many rows, so that few partial sums
go through memory. What was tried, with figures, stands in ANSWERS.md.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 8192  # elements that a program works on at once, in as many whole rows as that makes
FORWARD_MOST = 32768  # columns of a row that one program can hold in registers
BACKWARD_MOST = 16384  # the same where weight, dweight and dbias are held too
CHUNK = 2048  # columns of a longer row that are looked at together
RESERVED = 16384  # bytes of shared memory that reductions need


# --- forward ---------------------------------------------------------------------------------
# A block must be a power of two. A row of 5003 columns lies in a head of 4096 and a tail of 1024:
# in one block of 8192 two lanes in five would idle. TAIL is 0 where one block is as good.


@triton.jit
def _read(x, row, columns, stride, inside):
    return tl.load(x + row * stride + columns, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _scale_and_shift(normal, weight, bias, y, row, columns, width, inside):
    w = tl.load(weight + columns, mask=columns < width, other=0.0).to(tl.float32)
    b = tl.load(bias + columns, mask=columns < width, other=0.0).to(tl.float32)
    tl.store(y + row * width + columns, normal * w + b, mask=inside)


@triton.jit
def _forward_rows(
    x, weight, bias, y, mean, rstd, rows, width, stride, eps,
    ROWS: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr,
):  # fmt: skip
    """Normalise a few whole rows that are held in registers."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    head = tl.arange(0, HEAD)[None, :]
    in_head = (row < rows) & (head < width)
    value = _read(x, row, head, stride, in_head)
    center = tl.sum(value, 1, keep_dims=True)
    if TAIL:
        tail = HEAD + tl.arange(0, TAIL)[None, :]
        in_tail = (row < rows) & (tail < width)
        tail_value = _read(x, row, tail, stride, in_tail)
        center += tl.sum(tail_value, 1, keep_dims=True)
    center /= width
    # Lanes beyond the row hold 0, not the mean: they must not count as deviations.
    apart = tl.where(in_head, value - center, 0.0)
    variance = tl.sum(apart * apart, 1, keep_dims=True)
    if TAIL:
        tail_apart = tl.where(in_tail, tail_value - center, 0.0)
        variance += tl.sum(tail_apart * tail_apart, 1, keep_dims=True)
    scale = tl.rsqrt(variance / width + eps)
    # weight and bias are loaded here, so that the reductions have waited for nothing but x.
    _scale_and_shift(apart * scale, weight, bias, y, row, head, width, in_head)
    if TAIL:
        _scale_and_shift(tail_apart * scale, weight, bias, y, row, tail, width, in_tail)
    tl.store(mean + row, center, mask=row < rows)
    tl.store(rstd + row, scale, mask=row < rows)


@triton.jit
def _forward_long(x, weight, bias, y, mean, rstd, width, stride, eps, BLOCK: tl.constexpr):
    """Normalise one row of more columns than fit: each lane runs Welford's method over its own."""
    row = tl.program_id(0).to(tl.int64)
    x += row * stride
    y += row * width
    lanes = tl.arange(0, BLOCK)
    average = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        value = tl.load(x + start + lanes, mask=inside, other=0.0).to(tl.float32)
        step = tl.where(inside, value - average, 0.0)
        average += step * (1.0 / (start // BLOCK + 1))
        squares += tl.where(inside, step * (value - average), 0.0)
    # Chan's formula joins the lanes; each has seen every BLOCK-th column.
    count = ((width - lanes + BLOCK - 1) // BLOCK).to(tl.float32)
    center = tl.sum(average * count) / width
    apart = average - center
    scale = tl.rsqrt(tl.sum(squares + count * apart * apart) / width + eps)
    for start in range(0, width, BLOCK):
        inside = start + lanes < width
        value = tl.load(x + start + lanes, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + start + lanes, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(bias + start + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + start + lanes, (value - center) * scale * w + b, mask=inside)
    tl.store(mean + row, center)
    tl.store(rstd + row, scale)


def layer_norm_forward(
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # y [..., N] in x's dtype, mean [M] and rstd [M] in float32
    """Normalise each row by its mean and its biased variance, then scale and shift by column."""
    rows = _as_rows(x)
    num_rows, width = rows.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    mean, rstd = torch.empty(2, num_rows, dtype=torch.float32, device=x.device)
    if num_rows:
        given = (rows, weight.contiguous(), bias.contiguous(), y, mean, rstd)
        if width <= FORWARD_MOST:
            head, tail = _pieces(width)
            tile = _power_below(max(TILE // (head + tail), 1))
            # 32 columns a thread: four loads of 16 bytes in bfloat16.
            warps = _power_below(max(tile * (head + tail) // 1024, 4))
            _forward_rows[(triton.cdiv(num_rows, tile),)](
                *(*given, num_rows, width, rows.stride(0), eps),
                **{"ROWS": tile, "HEAD": head, "TAIL": tail, "num_warps": warps},
            )
        else:
            _forward_long[(num_rows,)](
                *(*given, width, rows.stride(0), eps), BLOCK=CHUNK, num_warps=8
            )
    return y, mean, rstd


# --- backward --------------------------------------------------------------------------------


@triton.jit
def _store_dx(dx, inner, normal, level, along, scale, row, columns, width, inside):
    tl.store(dx + row * width + columns, (inner - level - normal * along) * scale, mask=inside)


@triton.jit
def _store_sums(dweight, dbias, dw, db, columns, width):
    place = tl.program_id(0).to(tl.int64) * width + columns
    tl.store(dweight + place, tl.sum(dw, 0, keep_dims=True), mask=columns < width)
    tl.store(dbias + place, tl.sum(db, 0, keep_dims=True), mask=columns < width)


@triton.jit
def _backward_rows(
    dy, x, weight, mean, rstd, dx, dweight, dbias, rows, width, dy_stride, x_stride,
    ROWS: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write dx for every P-th block of rows, and this program's share of dweight and dbias."""
    program = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, HEAD)[None, :]
    # Held in its own dtype: as float32 it would take registers that wide rows do not have.
    w = tl.load(weight + head, mask=head < width, other=0.0)
    dw = tl.zeros([ROWS, HEAD], tl.float32)
    db = tl.zeros([ROWS, HEAD], tl.float32)
    if TAIL:
        tail = HEAD + tl.arange(0, TAIL)[None, :]
        tail_w = tl.load(weight + tail, mask=tail < width, other=0.0)
        tail_dw = tl.zeros([ROWS, TAIL], tl.float32)
        tail_db = tl.zeros([ROWS, TAIL], tl.float32)
    # The next rows are on their way into shared memory while these are worked on.
    for block in tl.range(program, tl.cdiv(rows, ROWS), tl.num_programs(0), num_stages=STAGES):
        row = block * ROWS + tl.arange(0, ROWS)[:, None]
        center = tl.load(mean + row, mask=row < rows, other=0.0)
        scale = tl.load(rstd + row, mask=row < rows, other=0.0)
        in_head = (row < rows) & (head < width)
        up = _read(dy, row, head, dy_stride, in_head)
        # Outside of the tensor up is 0, so whatever stands in normal there adds nothing.
        normal = (_read(x, row, head, x_stride, in_head) - center) * scale
        inner = up * w.to(tl.float32)
        level = tl.sum(inner, 1, keep_dims=True)
        along = tl.sum(inner * normal, 1, keep_dims=True)
        dw += up * normal
        db += up
        if TAIL:
            in_tail = (row < rows) & (tail < width)
            tail_up = _read(dy, row, tail, dy_stride, in_tail)
            tail_normal = (_read(x, row, tail, x_stride, in_tail) - center) * scale
            tail_inner = tail_up * tail_w.to(tl.float32)
            level += tl.sum(tail_inner, 1, keep_dims=True)
            along += tl.sum(tail_inner * tail_normal, 1, keep_dims=True)
            tail_dw += tail_up * tail_normal
            tail_db += tail_up
        level /= width
        along /= width
        _store_dx(dx, inner, normal, level, along, scale, row, head, width, in_head)
        if TAIL:
            _store_dx(dx, tail_inner, tail_normal, level, along, scale, row, tail, width, in_tail)
    _store_sums(dweight, dbias, dw, db, head, width)
    if TAIL:
        _store_sums(dweight, dbias, tail_dw, tail_db, tail, width)


@triton.jit
def _backward_long(
    dy, x, weight, mean, rstd, dx, width, dy_stride, x_stride, BLOCK: tl.constexpr
):  # fmt: skip
    """Write dx of one row of more columns than fit: first its two sums, then the values."""
    row = tl.program_id(0).to(tl.int64)
    dy += row * dy_stride
    x += row * x_stride
    dx += row * width
    center = tl.load(mean + row)
    scale = tl.load(rstd + row)
    level = tl.zeros([BLOCK], tl.float32)
    along = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < width
        value = tl.load(x + columns, mask=inside, other=0.0).to(tl.float32)
        inner = tl.load(dy + columns, mask=inside, other=0.0).to(tl.float32)
        inner *= tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
        level += inner
        along += inner * (value - center) * scale
    shift = tl.sum(level) / width
    slope = tl.sum(along) / width
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < width
        value = tl.load(x + columns, mask=inside, other=0.0).to(tl.float32)
        inner = tl.load(dy + columns, mask=inside, other=0.0).to(tl.float32)
        inner *= tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
        normal = (value - center) * scale
        tl.store(dx + columns, (inner - shift - normal * slope) * scale, mask=inside)


@triton.jit
def _backward_columns(
    dy, x, mean, rstd, dweight, dbias,
    rows, width, dy_stride, x_stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Sum dweight and dbias of some columns over every P-th block of rows."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    known = columns < width
    dw = tl.zeros([ROWS, COLUMNS], tl.float32)
    db = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(tl.program_id(1) * ROWS, rows, tl.num_programs(1) * ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = row < rows
        inside = there[:, None] & known[None, :]
        up = tl.load(dy + row[:, None] * dy_stride + columns[None, :], mask=inside, other=0.0)
        value = tl.load(x + row[:, None] * x_stride + columns[None, :], mask=inside, other=0.0)
        center = tl.load(mean + row, mask=there, other=0.0)
        scale = tl.load(rstd + row, mask=there, other=0.0)
        db += up.to(tl.float32)
        dw += up.to(tl.float32) * (value.to(tl.float32) - center[:, None]) * scale[:, None]
    place = tl.program_id(1).to(tl.int64) * width + columns
    tl.store(dweight + place, tl.sum(dw, 0), mask=known)
    tl.store(dbias + place, tl.sum(db, 0), mask=known)


@triton.jit
def _sum_partials(
    partial, total, parts, width, size, PARTS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    """Sum [2, parts, N] over its parts into [2, N]; axis 1 of the grid picks dweight or dbias."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    partial += tl.program_id(1).to(tl.int64) * size
    found = tl.zeros([PARTS, COLUMNS], tl.float32)
    for first in range(0, parts, PARTS):
        part = first + tl.arange(0, PARTS)
        inside = (part < parts)[:, None] & (columns < width)[None, :]
        found += tl.load(partial + part[:, None] * width + columns[None, :], inside, other=0.0)
    tl.store(total + tl.program_id(1) * width + columns, tl.sum(found, 0), mask=columns < width)


def layer_norm_backward(
    dy: Tensor,  # [..., N], any strides
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    mean: Tensor,  # [M] float32
    rstd: Tensor,  # [M] float32
) -> tuple[Tensor, Tensor, Tensor]:  # dx [..., N] in x's dtype, dweight and dbias [N] in weight's
    """Return the gradients of x, weight and bias for the upstream gradient ``dy``."""
    up, rows = _as_rows(dy), _as_rows(x)
    num_rows, width = rows.shape
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not num_rows:
        return dx, torch.zeros_like(weight), torch.zeros_like(weight)
    given = (up, rows, weight.contiguous(), mean, rstd, dx)
    strides = (up.stride(0), rows.stride(0))
    if width <= BACKWARD_MOST:
        head, tail = _pieces(width)
        size = head + tail
        tile = _power_below(max(TILE // 2 // size, 1))
        parts = min(triton.cdiv(num_rows, tile), _processors(x) * max(round(TILE / tile / size), 1))
        partial = torch.empty(2, parts, width, dtype=torch.float32, device=x.device)
        # Rows that start at odd addresses arrive two bytes at a time, which no copy in the
        # background can do; then more and smaller programs keep the loads coming.
        aligned = width % 8 == 0
        _backward_rows[(parts,)](
            *(*given, *partial, num_rows, width, *strides),
            **{"ROWS": tile, "HEAD": head, "TAIL": tail},
            STAGES=_stages(x, dy, tile * size) if aligned else 1,
            num_warps=max(8 if aligned else 4, _power_below(tile * size // 1024)),
        )
    else:
        _backward_long[(num_rows,)](*given, width, *strides, BLOCK=CHUNK, num_warps=8)
        parts = min(triton.cdiv(num_rows, 64), 32)
        partial = torch.empty(2, parts, width, dtype=torch.float32, device=x.device)
        _backward_columns[(triton.cdiv(width, 1024), parts)](
            *(up, rows, mean, rstd, *partial, num_rows, width, *strides), ROWS=4, COLUMNS=1024
        )
    total = torch.empty(2, width, dtype=weight.dtype, device=x.device)
    deep = min(triton.next_power_of_2(parts), 32)
    wide = 2048 // deep
    _sum_partials[(triton.cdiv(width, wide), 2)](
        *(partial, total, parts, width, partial.stride(0)), PARTS=deep, COLUMNS=wide
    )
    return dx, *total


# --- autograd --------------------------------------------------------------------------------


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        y, mean, rstd = layer_norm_forward(x, weight, bias, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        return *layer_norm_backward(dy, *ctx.saved_tensors), None


def layer_norm(
    x: Tensor,  # [..., N], any strides
    weight: Tensor,  # [N]
    bias: Tensor,  # [N]
    eps: float = 1e-5,
) -> Tensor:  # [..., N] in x's dtype
    """Normalise the last axis, differentiably."""
    return _LayerNorm.apply(x, weight, bias, eps)


# --- launch settings -------------------------------------------------------------------------


def _as_rows(x: Tensor) -> Tensor:  # [..., N] -> [M, N] whose columns lie side by side
    rows = x.reshape(-1, x.shape[-1])
    # Strided columns cost a copy here, and the kernels stay free of a second stride.
    return rows if rows.stride(1) == 1 or rows.shape[1] == 1 else rows.contiguous()


def _pieces(width: int) -> tuple[int, int]:
    """Cover a row by a head, and where that saves a quarter of the lanes or more, a tail."""
    whole = triton.next_power_of_2(width)
    head = whole // 2
    tail = triton.next_power_of_2(max(width - head, 1))
    return (head, tail) if whole >= 1024 and tail < head else (whole, 0)


def _power_below(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def _stages(x: Tensor, dy: Tensor, size: int) -> int:
    """Return how many blocks of x and dy, of so many elements each, fit into shared memory."""
    if x.device.type != "cuda":
        return 1
    room = torch.cuda.get_device_properties(x.device).shared_memory_per_block_optin - RESERVED
    return max(1, min(3, room // (size * (x.element_size() + dy.element_size()))))


def _processors(x: Tensor) -> int:
    if x.device.type != "cuda":
        return 4  # the interpreter runs one program at a time: a few show that sums are joined
    return torch.cuda.get_device_properties(x.device).multi_processor_count
