"""Lab 09, model answer: symmetric int8, packed int4, and kernels that dequantize in registers.

For one row of x a kernel reads 16 bytes of codes at a time and turns a code into a float by one
operation, without a conversion. For more rows the same floats go into ``tl.dot``, in an order that
leaves each in the thread that has read it: tensor cores add up columns in any order, so the columns
of x are put into that order instead.
"""

import copy
from collections.abc import Collection
from typing import Any, Self

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional as F

CHUNK = 16  # bytes that a thread loads at once: 32 weights of int4, 16 of int8
# Of a program, by measurement on an H200. First where x is one row, then where it has more.
VECTOR4 = {"ROWS": 8, "CHUNKS": 128, "num_warps": 4}
VECTOR8 = {"ROWS": 4, "CHUNKS": 64, "num_warps": 2}
TILE4 = {"OUTS": 64, "STAGES": 3, "num_warps": 4}
TILE8 = {"OUTS": 128, "STAGES": 3, "num_warps": 8}
REGISTERS = 128  # of a thread of theirs: 16 warps fit a processor
PROGRAMS = 512  # that keep an H200 busy: fewer tiles share out their columns
BLOCK = 128  # columns of a step, where x has more rows than one
LONGEST_GROUP = 32 * VECTOR4["CHUNKS"]  # columns of a step, where x is one row
NEAR, FAR = 0x43800000, 0x41800000  # 256.0 and 16.0, as bits
NEAR_SIGNED = NEAR ^ 0x400000  # 384.0: turns the sign of a code at the top of the mantissa around
LOW_SIGNED, HIGH_SIGNED = 0x4B000080, 0x47008000  # 2**23 and 2**15, for codes further down in it

# --- int8 ------------------------------------------------------------------------------------


def quantize_int8(w: Tensor) -> tuple[Tensor, Tensor]:  # [O, I] -> int8 [O, I], float32 scale [O]
    """Return symmetric codes, one scale a row."""
    wide = w.detach().float()
    largest = wide.abs().amax(1)
    scale = torch.where(largest > 0, largest / 127, 1.0)
    codes = (wide / scale[:, None]).round().clamp(-127, 127)
    return codes.to(torch.int8), scale


def dequantize_int8(q: Tensor, scale: Tensor) -> Tensor:  # [O, I], [O] -> float32 [O, I]
    """Return the weights that the codes stand for."""
    return q.float() * scale[:, None]


# --- int4 ------------------------------------------------------------------------------------


def quantize_int4(
    w: Tensor,  # [O, I]
    group: int,
) -> tuple[Tensor, Tensor, Tensor]:  # uint8 [O, I/2], scale float32 and zero uint8 [O, I/group]
    """Return packed codes 0..15 of groups whose range holds 0."""
    if w.shape[1] % 2:
        raise ValueError(f"w has {w.shape[1]} columns, an odd number: they share bytes in pairs")
    if group < 1 or w.shape[1] % group:
        raise ValueError(f"group is {group}, which does not divide {w.shape[1]} columns")
    groups = w.detach().float().unflatten(1, (-1, group))  # [O, I/group, group]
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    scale = torch.where(high > low, (high - low) / 15, 1.0)
    zero = (-low / scale).round()
    codes = (groups / scale[..., None]).round() + zero[..., None]
    codes = codes.clamp(0, 15).to(torch.uint8).flatten(1)
    return codes[:, 0::2] | codes[:, 1::2] << 4, scale, zero.to(torch.uint8)


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Return the float32 weights [O, I] that packed codes stand for."""
    codes = torch.stack((packed & 15, packed >> 4), dim=2).flatten(1).float()
    groups = codes.unflatten(1, (-1, group)) - zero[..., None].float()
    return (groups * scale[..., None]).flatten(1)


# --- kernels ---------------------------------------------------------------------------------


@triton.jit
def _float(bits):
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _words(words, row, start, per_row, WORDS: tl.constexpr, WHOLE: tl.constexpr = False):
    """Load WORDS words of each row from ``start`` on, 16 bytes at a time.

    WHOLE says that rows end where steps end: a load without a mask needs no zeros beside it.
    """
    place = start + tl.arange(0, WORDS)
    inside = ((place < per_row) | WHOLE)[None, :]
    word = tl.load(words + row[:, None] * per_row + place[None, :], mask=inside, other=0)
    return word.to(tl.uint32, bitcast=True)  # shifts bring zeros in


@triton.jit
def _words_of_chunks(word):
    """Take chunks of 4 words apart: [ROWS, 4 * CHUNKS] -> four of [ROWS, CHUNKS]."""
    pairs = tl.reshape(word, [word.shape[0], word.shape[1] // 4, 2, 2])
    even, odd = tl.split(pairs)
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def _quarters(value):
    """Take columns apart: [CHUNKS, 4] -> four of [CHUNKS]."""
    even, odd = tl.split(tl.reshape(value, [value.shape[0], 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def _eight_columns(x, column, inside):
    """Load x at 8 columns from ``column`` [CHUNKS] on: the even [CHUNKS, 4] and the odd ones."""
    place = column[:, None] + tl.arange(0, 8)[None, :]
    value = tl.load(x + place, mask=inside[:, None], other=0.0).to(tl.float32)
    return tl.split(tl.reshape(value, [value.shape[0], 4, 2]))


@triton.jit
def _two_nibbles(acc, word, even, odd, near, far):
    """Add two neighbours, at bits 15 and 19 of ``word``, times their columns of x.

    There they lie in the top of a float's mantissa: put into 256.0 the first makes 256 + code, put
    into 16.0 the second makes 16 + code. 256 and 16 times x are taken off later, for all rows.
    """
    acc += _float((word & 0x78000) | near) * even[None, :]
    return acc + _float((word & 0x780000) | far) * odd[None, :]


@triton.jit
def _eight_nibbles(acc, evens, odds, word, x, column, inside, near, far):
    """Add a word's 8 weights times x, and x to the sums of its even and odd columns."""
    even, odd = _eight_columns(x, column, inside)
    x0, x2, x4, x6 = _quarters(even)
    x1, x3, x5, x7 = _quarters(odd)
    acc = _two_nibbles(acc, word << 15, x0, x1, near, far)
    acc = _two_nibbles(acc, word << 7, x2, x3, near, far)
    acc = _two_nibbles(acc, word >> 1, x4, x5, near, far)
    acc = _two_nibbles(acc, word >> 9, x6, x7, near, far)
    return acc, evens + ((x0 + x2) + (x4 + x6)), odds + ((x1 + x3) + (x5 + x7))


@triton.jit
def _groups(values, row, start, groups, GROUPS: tl.constexpr, SHARE: tl.constexpr):
    """Load what belongs to the groups of a step: [rows, GROUPS]."""
    group = start // SHARE + tl.arange(0, GROUPS)
    place = row[:, None] * groups + group[None, :]
    return tl.load(values + place, mask=(group < groups)[None, :], other=0)


@triton.jit
def _spread(value, SHARE: tl.constexpr):
    """Repeat each column SHARE times, as floats."""
    value = value.to(tl.float32)
    wide = tl.broadcast_to(value[:, :, None], [value.shape[0], value.shape[1], SHARE])
    return tl.reshape(wide, [value.shape[0], value.shape[1] * SHARE])


@triton.jit
def _vector4_kernel(
    x, words, scale, zero, y, near, far, num_out, chunks,
    SHARE: tl.constexpr, WHOLE: tl.constexpr, ROWS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Multiply ROWS rows of the weights with x. A word is 8 nibbles, a group SHARE chunks.

    The words of a step are loaded while those of the step before are worked on. ``near`` and
    ``far`` are arguments: as constants they would take the mask's place in an instruction, and the
    mask would cost a move.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    here = tl.minimum(row, num_out - 1).to(tl.int64)
    groups = chunks // SHARE
    acc = tl.zeros([ROWS, CHUNKS], tl.float32)
    ahead = _words(words, here, 0, chunks * 4, CHUNKS * 4, WHOLE)
    for start in range(0, chunks, CHUNKS):
        chunk = start + tl.arange(0, CHUNKS)
        inside = (chunk < chunks) | WHOLE
        s = _groups(scale, here, start, groups, CHUNKS // SHARE, SHARE)
        z = _groups(zero, here, start, groups, CHUNKS // SHARE, SHARE)
        first, second, third, fourth = _words_of_chunks(ahead)
        following = start + CHUNKS
        if WHOLE:  # no mask holds the last step back: it loads its own words again
            following = tl.minimum(following, chunks - CHUNKS)
        ahead = _words(words, here, following * 4, chunks * 4, CHUNKS * 4, WHOLE)
        total = tl.zeros([ROWS, CHUNKS], tl.float32)
        evens = tl.zeros([CHUNKS], tl.float32)
        odds = tl.zeros([CHUNKS], tl.float32)
        at = chunk * 32
        total, evens, odds = _eight_nibbles(
            total, evens, odds, first, x, at, inside, near, far
        )  # fmt: skip
        total, evens, odds = _eight_nibbles(
            total, evens, odds, second, x, at + 8, inside, near, far
        )  # fmt: skip
        total, evens, odds = _eight_nibbles(
            total, evens, odds, third, x, at + 16, inside, near, far
        )  # fmt: skip
        total, evens, odds = _eight_nibbles(
            total, evens, odds, fourth, x, at + 24, inside, near, far
        )  # fmt: skip
        # sum((code - zero) * x) = sum(code * x) - zero * sum(x)
        more, sums = (256.0 * evens + 16.0 * odds)[None, :], (evens + odds)[None, :]
        acc += _spread(s, SHARE) * ((total - more) - _spread(z, SHARE) * sums)
    tl.store(y + row, tl.sum(acc, 1), mask=row < num_out)


@triton.jit
def _four_bytes(acc, word, x0, x1, x2, x3, near):
    """Add a word's 4 weights times x: a byte at bit 15, put into 384.0 by ^, is 384 + code."""
    acc += _float(((word << 15) & 0x7F8000) ^ near) * x0[None, :]
    acc += _float(((word << 7) & 0x7F8000) ^ near) * x1[None, :]
    acc += _float(((word >> 1) & 0x7F8000) ^ near) * x2[None, :]
    return acc + _float(((word >> 9) & 0x7F8000) ^ near) * x3[None, :]


@triton.jit
def _eight_bytes(acc, word, after, x, column, inside, near):
    """Add 8 weights of two words times x; return the sum of x too."""
    even, odd = _eight_columns(x, column, inside)
    x0, x2, x4, x6 = _quarters(even)
    x1, x3, x5, x7 = _quarters(odd)
    acc = _four_bytes(acc, word, x0, x1, x2, x3, near)
    acc = _four_bytes(acc, after, x4, x5, x6, x7, near)
    return acc, ((x0 + x2) + (x4 + x6)) + ((x1 + x3) + (x5 + x7))


@triton.jit
def _vector8_kernel(
    x, words, scale, y, near, num_out, chunks, ROWS: tl.constexpr, CHUNKS: tl.constexpr
):  # fmt: skip
    """Multiply ROWS rows of int8 weights with x. A word is 4 codes, a chunk 4 words."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    here = tl.minimum(row, num_out - 1).to(tl.int64)
    acc = tl.zeros([ROWS, CHUNKS], tl.float32)
    for start in range(0, chunks, CHUNKS):
        chunk = start + tl.arange(0, CHUNKS)
        inside = chunk < chunks
        word = _words(words, here, start * 4, chunks * 4, CHUNKS * 4)
        first, second, third, fourth = _words_of_chunks(word)
        total = tl.zeros([ROWS, CHUNKS], tl.float32)
        total, sums = _eight_bytes(total, first, second, x, chunk * 16, inside, near)
        total, more = _eight_bytes(total, third, fourth, x, chunk * 16 + 8, inside, near)
        acc += total - (384.0 * (sums + more))[None, :]
    s = tl.load(scale + row, mask=row < num_out, other=0.0)
    tl.store(y + row, tl.sum(acc, 1) * s, mask=row < num_out)


@triton.jit
def _rows_of_threads(OUTS: tl.constexpr):
    """Return the order in which threads load OUTS rows of the weights.

    A load gives 8 rows to a warp, and the rows from OUTS / 2 on to the same warps again; a tensor
    core wants rows 16 w to 16 w + 15 from warp w.
    """
    place = tl.arange(0, OUTS)
    half, warp, row = place // (OUTS // 2), place % (OUTS // 2) // 8, place % 8
    return 16 * warp + 8 * half + row


@triton.jit
def _of_threads(value, OUTS: tl.constexpr):
    """Put [OUTS, 4 chunks, pairs, 2] weights as threads hold them into [OUTS, columns].

    Four neighbouring threads have a chunk each, of which a tensor core wants two columns at a time:
    pair p of all four chunks, then pair p + 1. ``_in_order_of_threads`` does the same to x.
    """
    pairs: tl.constexpr = value.shape[2]
    value = tl.reshape(value, [2, OUTS // 16, 8, 4, pairs, 2])
    return tl.reshape(tl.permute(value, [1, 0, 2, 4, 3, 5]), [OUTS, 8 * pairs])


@triton.jit
def _tile_of_x(x, row, start, rows, width, COLUMNS: tl.constexpr):
    here = tl.minimum(row, rows - 1).to(tl.int64)[:, None]
    return tl.load(x + here * width + start + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def _chunks_of(words, here, start, chunks, WHOLE: tl.constexpr):
    """Load 4 chunks of each row from ``start`` on: 16 words, of which a thread has 4."""
    place = start * 4 + tl.arange(0, 16)
    inside = ((place < chunks * 4) | WHOLE)[None, :]
    return tl.load(words + here[:, None] * (chunks * 4) + place[None, :], mask=inside, other=0)


@triton.jit
def _groups_of(values, here, start, chunks, SHIFT: tl.constexpr):
    """Load what belongs to the groups of 4 chunks, of 2**SHIFT chunks each: [4, rows].

    Transposed, as that order of loading gives a thread the group whose words it has.
    """
    chunk = tl.minimum(start + tl.arange(0, 4), chunks - 1)[:, None]
    return tl.load(values + here[None, :] * (chunks >> SHIFT) + (chunk >> SHIFT))


@triton.jit
def _weights4(word, scale, zero, near, far):
    """Return the weights [OUTS, 4 chunks, 16 pairs, 2] of words [OUTS, 16], by ``_two_nibbles``'
    trick."""
    s = tl.trans(scale)[:, :, None, None]
    z = tl.trans(zero).to(tl.float32)[:, :, None, None]
    word = tl.reshape(word.to(tl.uint32, bitcast=True), [word.shape[0], 4, 4])
    pair = tl.join(tl.join(word << 15, word >> 1), tl.join(word << 7, word >> 9))
    pair = tl.reshape(pair, [word.shape[0], 4, 4, 4])
    even = (_float((pair & 0x78000) | near) - (z + 256.0)) * s
    odd = (_float((pair & 0x780000) | far) - (z + 16.0)) * s
    return tl.reshape(tl.join(even, odd), [word.shape[0], 4, 16, 2])


@triton.jit
def _tile4_kernel(
    x, words, scale, zero, y, near, far, rows, num_out, chunks, steps,
    SHIFT: tl.constexpr, WHOLE: tl.constexpr, ROWS: tl.constexpr,
    OUTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Multiply a tile of weights with one of x, over ``steps`` times 4 chunks of columns.

    Only x goes through shared memory, which tensor cores read it from: words, scales and zeros of
    a step are loaded by the threads that need them, during the step before.
    """
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    out = tl.program_id(0) * OUTS + _rows_of_threads(OUTS)
    here = tl.minimum(out, num_out - 1).to(tl.int64)
    first = tl.program_id(2) * steps
    width = (chunks + 3) // 4 * 128
    last = tl.minimum(first + steps, (chunks + 3) // 4)
    acc = tl.zeros([OUTS, ROWS], tl.float32)
    ahead = _chunks_of(words, here, first * 4, chunks, WHOLE)
    s_ahead = _groups_of(scale, here, first * 4, chunks, SHIFT)
    z_ahead = _groups_of(zero, here, first * 4, chunks, SHIFT)
    for step in tl.range(first, last, num_stages=STAGES):
        value = _tile_of_x(x, row, step * 128, rows, width, 128)
        word, s, z = ahead, s_ahead, z_ahead
        following = tl.minimum(step + 1, last - 1) * 4
        ahead = _chunks_of(words, here, following, chunks, WHOLE)
        s_ahead = _groups_of(scale, here, following, chunks, SHIFT)
        z_ahead = _groups_of(zero, here, following, chunks, SHIFT)
        weight = _of_threads(_weights4(word, s, z, near, far), OUTS)
        acc = tl.dot(weight.to(value.dtype), tl.trans(value), acc, input_precision="ieee")
    _store(y, acc, row, rows, num_out)


@triton.jit
def _store(y, acc, row, rows, num_out):
    """Store a tile [OUTS, ROWS] of the result, which stands in ``y`` once for each part."""
    out = tl.program_id(0) * acc.shape[0] + tl.arange(0, acc.shape[0])
    place = (tl.program_id(2) * rows + row).to(tl.int64)[None, :] * num_out + out[:, None]
    tl.store(y + place, acc, mask=(row < rows)[None, :] & (out < num_out)[:, None])


@triton.jit
def _weights8(word, low, high):
    """Return the codes [OUTS, 4 chunks, 8 pairs, 2] of words [OUTS, 16].

    A byte at the end of a float's mantissa adds itself to 2**23, the byte before it to 2**15; the
    sign that is turned around by ^ makes them 128 more.
    """
    word = tl.reshape(word.to(tl.uint32, bitcast=True), [word.shape[0], 4, 4])
    pair = tl.reshape(tl.join(word, word >> 16), [word.shape[0], 4, 8])
    even = _float((pair & 0xFF) ^ low) - 8388736.0
    odd = _float((pair & 0xFF00) ^ high) - 32896.0
    return tl.join(even, odd)


@triton.jit
def _tile8_kernel(
    x, words, scale, y, low, high, rows, num_out, chunks, steps, WHOLE: tl.constexpr,
    ROWS: tl.constexpr, OUTS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Multiply a tile of int8 weights, which every dtype of x holds exactly, with one of x.

    A step takes 8 chunks: with 4 of them the tensor cores would wait for each other's ends.
    """
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    out = tl.program_id(0) * OUTS + _rows_of_threads(OUTS)
    here = tl.minimum(out, num_out - 1).to(tl.int64)
    first = tl.program_id(2) * steps
    width = (chunks + 7) // 8 * 128
    last = tl.minimum(first + steps, (chunks + 7) // 8)
    acc = tl.zeros([OUTS, ROWS], tl.float32)
    ahead = _chunks_of(words, here, first * 8, chunks, WHOLE)
    further = _chunks_of(words, here, first * 8 + 4, chunks, WHOLE)
    for step in tl.range(first, last, num_stages=STAGES):
        value = _tile_of_x(x, row, step * 128, rows, width, 128)
        left = _of_threads(_weights8(ahead, low, high), OUTS)
        right = _of_threads(_weights8(further, low, high), OUTS)
        following = tl.minimum(step + 1, last - 1) * 8
        ahead = _chunks_of(words, here, following, chunks, WHOLE)
        further = _chunks_of(words, here, following + 4, chunks, WHOLE)
        code = tl.reshape(tl.permute(tl.join(left, right), [0, 2, 1]), [OUTS, 128])
        acc = tl.dot(code.to(value.dtype), tl.trans(value), acc, input_precision="ieee")
    out = tl.program_id(0) * OUTS + tl.arange(0, OUTS)
    acc *= tl.load(scale + tl.minimum(out, num_out - 1))[:, None]
    _store(y, acc, row, rows, num_out)


@triton.jit
def _dequantized(code, scale, zero, out, column, width, group, inside):
    place = out * (width // group) + column // group
    s = tl.load(scale + place, mask=inside, other=0.0)
    z = tl.load(zero + place, mask=inside, other=0).to(tl.float32)
    return (code.to(tl.float32) - z) * s


@triton.jit
def _any_kernel(
    x, packed, scale, zero, y, rows, num_out, width, group,
    ROWS: tl.constexpr, OUTS: tl.constexpr, BYTES: tl.constexpr,
):  # fmt: skip
    """Multiply a tile of x with one of weights, for any group and width: a byte, a scale and a zero
    for each weight; even and odd columns are two products."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    out = tl.program_id(1).to(tl.int64) * OUTS + tl.arange(0, OUTS)[None, :]
    acc = tl.zeros([ROWS, OUTS], tl.float32)
    for start in range(0, width // 2, BYTES):
        byte = start + tl.arange(0, BYTES)
        even = 2 * byte
        in_x = (row < rows) & (even < width)[None, :]
        x_even = tl.load(x + row * width + even[None, :], mask=in_x, other=0.0)
        x_odd = tl.load(x + row * width + even[None, :] + 1, mask=in_x, other=0.0)
        inside = (even < width)[:, None] & (out < num_out)
        both = tl.load(packed + out * (width // 2) + byte[:, None], mask=inside, other=0)
        column = even[:, None]
        w_even = _dequantized(both & 15, scale, zero, out, column, width, group, inside)
        w_odd = _dequantized(both >> 4, scale, zero, out, column + 1, width, group, inside)
        acc = tl.dot(x_even, w_even.to(x_even.dtype), acc, input_precision="ieee")
        acc = tl.dot(x_odd, w_odd.to(x_odd.dtype), acc, input_precision="ieee")
    tl.store(y + row * num_out + out, acc, mask=(row < rows) & (out < num_out))


def int4_matmul(
    x: Tensor,  # [M, I]
    packed: Tensor,  # uint8 [O, I/2]
    scale: Tensor,  # float32 [O, I/group]
    zero: Tensor,  # uint8 [O, I/group]
    group: int,
) -> Tensor:  # [M, O] in x's dtype
    """Return x @ W.T for the weights that the codes stand for, dequantized in the kernel."""
    x, packed, scale, zero = (t.contiguous() for t in (x, packed, scale, zero))
    (rows, width), num_out = x.shape, packed.shape[0]
    y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    if not _whole_chunks(packed) or group < 2 * CHUNK or group & (group - 1):
        tile = min(_tile(x), 32)
        grid = (triton.cdiv(rows, tile), triton.cdiv(num_out, 32))
        sizes = (rows, num_out, width, group)
        _any_kernel[grid](x, packed, scale, zero, y, *sizes, ROWS=tile, OUTS=32, BYTES=32)
        return y
    words, chunks, share = packed.view(torch.int32), width // (2 * CHUNK), group // (2 * CHUNK)
    if _is_vector(x) and group <= LONGEST_GROUP:
        sizes = (NEAR, FAR, num_out, chunks, share, chunks % VECTOR4["CHUNKS"] == 0)
        grid = (triton.cdiv(num_out, VECTOR4["ROWS"]),)
        _vector4_kernel[grid](x, words, scale, zero, y, *sizes, **VECTOR4)
        return y
    grid, steps = _share_out(x, num_out, TILE4)
    sums = y[None] if grid[2] == 1 else y.new_empty(grid[2], *y.shape, dtype=torch.float32)
    sizes = (NEAR, FAR, rows, num_out, chunks, steps)
    shape = (share.bit_length() - 1, width % BLOCK == 0, _tile(x))
    x = _in_order_of_threads(x, 16)
    _tile4_kernel[grid](x, words, scale, zero, sums, *sizes, *shape, **TILE4, **_limit(x))
    return _added_up(sums, x.dtype)


def _int8_matmul(
    x: Tensor,  # [M, I]
    codes: Tensor,  # int8 [O, I]
    scale: Tensor,  # float32 [O]
) -> Tensor:  # [M, O] in x's dtype
    """Return x @ W.T for the weights that the codes stand for, dequantized in the kernel."""
    x, codes, scale = x.contiguous(), codes.contiguous(), scale.contiguous()
    (rows, width), num_out = x.shape, codes.shape[0]
    if not _whole_chunks(codes):
        return F.linear(x, dequantize_int8(codes, scale).to(x.dtype))
    y = torch.empty(rows, num_out, dtype=x.dtype, device=x.device)
    if y.numel() == 0:
        return y
    words = codes.view(torch.int32)
    if _is_vector(x):
        grid = (triton.cdiv(num_out, VECTOR8["ROWS"]),)
        sizes = (NEAR_SIGNED, num_out, width // CHUNK)
        _vector8_kernel[grid](x, words, scale, y, *sizes, **VECTOR8)
        return y
    grid, steps = _share_out(x, num_out, TILE8)
    sums = y[None] if grid[2] == 1 else y.new_empty(grid[2], *y.shape, dtype=torch.float32)
    sizes = (LOW_SIGNED, HIGH_SIGNED, rows, num_out, width // CHUNK, steps)
    shape = (width % BLOCK == 0, _tile(x))
    x = _in_order_of_threads(x, 8)
    _tile8_kernel[grid](x, words, scale, sums, *sizes, *shape, **TILE8, **_limit(x))
    return _added_up(sums, x.dtype)


def _whole_chunks(stored: Tensor) -> bool:  # contiguous [O, bytes of a row]
    """Return whether each row is a number of 16 bytes, and memory is aligned to them."""
    aligned = stored.data_ptr() % CHUNK == 0 and stored.storage_offset() % 4 == 0
    return aligned and stored.shape[1] % CHUNK == 0


def _is_vector(x: Tensor) -> bool:
    """Return whether the kernels for one row serve x: what they lose shows in float32 alone."""
    return x.shape[0] == 1 and x.element_size() == 2


def _tile(x: Tensor) -> int:
    """Return the rows of x in a tile; float32 takes twice the memory."""
    most = 64 if x.element_size() == 2 else 32
    return min(max(triton.next_power_of_2(x.shape[0]), 16), most)


def _share_out(x: Tensor, num_out: int, sizes: dict[str, int]) -> tuple[tuple[int, int, int], int]:
    """Return the grid of tiles and parts of their columns, and the steps of a part.

    Columns are parted where tiles alone would leave processors idle.
    """
    tiles = triton.cdiv(num_out, sizes["OUTS"]), triton.cdiv(x.shape[0], _tile(x))
    steps = triton.cdiv(x.shape[1], BLOCK)
    parts = min(PROGRAMS // (tiles[0] * tiles[1] * sizes["num_warps"] // 4), steps // 8)
    of_a_part = triton.cdiv(steps, max(1, parts))
    return (*tiles, triton.cdiv(steps, of_a_part)), of_a_part


def _added_up(sums: Tensor, dtype: torch.dtype) -> Tensor:  # [parts, M, O] -> [M, O]
    return sums[0] if len(sums) == 1 else sums.sum(0).to(dtype)


def _limit(x: Tensor) -> dict[str, int]:
    """Return what limits the registers, where a compiler can be told."""
    return {"maxnreg": REGISTERS} if x.is_cuda and torch.version.hip is None else {}


def _in_order_of_threads(x: Tensor, pairs: int) -> Tensor:  # [M, I] -> [M, a multiple of BLOCK]
    """Put the columns of x as ``_of_threads`` puts the weights: pair p of 4 chunks side by side."""
    rows, width = x.shape
    x = F.pad(x, (0, -width % BLOCK))  # a copy, which begins where memory does
    # A pair as one number: half as many to copy.
    whole = x.view(torch.int32 if x.element_size() == 2 else torch.int64)
    return whole.view(rows, -1, 4, pairs).transpose(2, 3).reshape(rows, -1).view(x.dtype)


# --- linears ---------------------------------------------------------------------------------


def _in_dtype_of(x: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return the bias, if there is one, in x's dtype: torch adds no others."""
    return None if bias is None else bias.to(x.dtype)


class Int8Linear(nn.Module):
    """A linear layer that keeps its weight as int8."""

    codes: Tensor
    scale: Tensor

    def __init__(self, codes: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("codes", codes)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear) -> Self:
        """Quantize a layer."""
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int8(linear.weight), bias)

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]
        if not x.is_cuda:  # the interpreter would take minutes
            weight = dequantize_int8(self.codes, self.scale).to(x.dtype)
            return F.linear(x, weight, _in_dtype_of(x, self.bias))
        y = _int8_matmul(x.reshape(-1, x.shape[-1]), self.codes, self.scale)
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        bias = _in_dtype_of(x, self.bias)
        return y if bias is None else y + bias


class Int4Linear(nn.Module):
    """A linear layer that keeps its weight as packed int4."""

    packed: Tensor
    scale: Tensor
    zero: Tensor

    def __init__(
        self, packed: Tensor, scale: Tensor, zero: Tensor, group: int, bias: Tensor | None
    ) -> None:
        super().__init__()
        self.group = group
        self.register_buffer("packed", packed)
        self.register_buffer("scale", scale)
        self.register_buffer("zero", zero)
        self.register_buffer("bias", bias)

    @classmethod
    def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
        """Quantize a layer; ValueError as in quantize_int4."""
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(*quantize_int4(linear.weight, group), group, bias)

    def forward(self, x: Tensor) -> Tensor:  # [..., I] -> [..., O]
        if not x.is_cuda:  # the interpreter would take minutes
            weight = dequantize_int4(self.packed, self.scale, self.zero, self.group)
            return F.linear(x, weight.to(x.dtype), _in_dtype_of(x, self.bias))
        rows = x.reshape(-1, x.shape[-1])
        y = int4_matmul(rows, self.packed, self.scale, self.zero, self.group)
        y = y.reshape(*x.shape[:-1], y.shape[-1])
        bias = _in_dtype_of(x, self.bias)
        return y if bias is None else y + bias


# --- model -----------------------------------------------------------------------------------


def quantize_model(
    model: nn.Module, linear_cls: Any, skip: Collection[str] = ("lm_head",)
) -> nn.Module:
    """Return a copy whose linear layers are quantized, but those whose last name is in skip."""
    linears = {
        id(module): module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] not in skip
    }
    # What deepcopy finds in its memo it takes for copied: no float weight is copied to be dropped,
    # and a layer that is used in two places remains one.
    memo: dict[int, Any] = {key: linear_cls.from_float(item) for key, item in linears.items()}
    return copy.deepcopy(model, memo)


# --- cache -----------------------------------------------------------------------------------


class _Tokens:
    """Keys or values in int8, with a scale for each token and head."""

    def __init__(self) -> None:
        self.codes: Tensor | None = None  # int8 [B, G, S, D]
        self.scale: Tensor | None = None  # float32 [B, G, S, 1]

    def add(self, x: Tensor) -> Tensor:  # [B, G, T, D] -> [B, G, S, D]
        flat, scales = quantize_int8(x.reshape(-1, x.shape[-1]))
        codes, scale = flat.reshape(x.shape), scales.reshape(*x.shape[:-1], 1)
        if self.codes is not None and self.scale is not None:
            codes = torch.cat((self.codes, codes), dim=2)
            scale = torch.cat((self.scale, scale), dim=2)
        self.codes, self.scale = codes, scale
        return (codes * scale).to(x.dtype)

    def keep(self, length: int) -> None:
        if self.codes is not None and self.scale is not None:
            self.codes, self.scale = self.codes[:, :, :length], self.scale[:, :, :length]


class QuantizedCache:
    """The keys and values of all tokens so far, in int8. ``length`` (int): tokens held."""

    def __init__(self) -> None:
        self.length = 0
        self._keys, self._values = _Tokens(), _Tokens()

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:  # [B,G,T,D] -> [B,G,S,D]
        """Add T tokens; return all keys and values so far, in the dtype of k and v."""
        self.length += k.shape[2]
        return self._keys.add(k), self._values.add(v)

    def rewind(self, n: int) -> None:
        """Drop the last n tokens."""
        if not 0 <= n <= self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        self.length -= n
        self._keys.keep(self.length)
        self._values.keep(self.length)
