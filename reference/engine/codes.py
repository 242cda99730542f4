"""Products of codes of 4 bits with one row of x.

The bytes of such a product are few, and what its threads do with them decides: two codes at a time
become two numbers of 16 bits by one operation, and no code leaves the thread that has loaded it.
"""

import triton
import triton.language as tl

from reference.engine.kernels import begin
from reference.engine.products import finish, load_before


@triton.jit
def vector4(
    x, gain, w, scale, zero, out, eps,
    K: tl.constexpr, OUTS: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    STEPS: tl.constexpr, SHARES: tl.constexpr, WARPS: tl.constexpr, NORM: tl.constexpr,
    GATED: tl.constexpr, ADD: tl.constexpr, HALVES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Do what ``vector`` does for codes of 4 bits, w int32 [O, K / 8], in groups of 32.

    A thread has whole groups, one of each 32 SHARES of a row; WARPS / SHARES teams of warps have
    rows of their own. HALVES: multiply two codes at a time, in 16 bits, with x rounded to the 11
    bits of a float16 beside the largest of its thread, and add 16 of them up there.
    """
    tl.static_assert(GROUP == 32, "a thread has four words of a group")
    TEAMS: tl.constexpr = WARPS // SHARES
    PARTS: tl.constexpr = triton.next_power_of_2((K + 1024 * SHARES - 1) // (1024 * SHARES))
    FULL: tl.constexpr = OUTS % (ROWS * STEPS) == 0 and K == 1024 * SHARES * PARTS
    block = tl.program_id(0) * STEPS
    a, a_size, a_zero = _codes(
        w, scale, zero, block, 0, OUTS, K, ROWS, SHARES, TEAMS, PARTS, FULL, HALVES
    )
    b, b_size, b_zero = a, a_size, a_zero
    if GATED:
        b, b_size, b_zero = _codes(
            w, scale, zero, block, OUTS, OUTS, K, ROWS, SHARES, TEAMS, PARTS, FULL, HALVES
        )
    here = (
        32 * tl.arange(0, 32)[:, None, None, None, None]
        + 0 * tl.arange(0, TEAMS)[None, :, None, None, None]
        + 1024 * tl.arange(0, SHARES)[None, None, :, None, None]
        + 1024 * SHARES * tl.arange(0, PARTS)[None, None, None, :, None]
        + tl.arange(0, 8)[None, None, None, None, :]
    )
    g0, g1, g2, g3 = here, here, here, here
    if NORM:
        g0, g1, g2, g3 = _inputs(gain, here, K)
    begin(PDL)
    before = load_before(out, block, OUTS, ROWS, ADD)
    v0, v1, v2, v3 = _inputs(x, here, K)  # [32, TEAMS, SHARES, PARTS, 8], of a word each
    v0, v1 = v0.to(tl.float32), v1.to(tl.float32)
    v2, v3 = v2.to(tl.float32), v3.to(tl.float32)
    root = 1.0
    if NORM:
        squares = tl.sum(tl.sum(v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3, 4), 3)
        # Each team of warps has all of x.
        root = tl.rsqrt(tl.sum(tl.reshape(squares, [32 * WARPS]), 0) / (K * TEAMS) + eps)
        v0, v1 = v0 * g0.to(tl.float32), v1 * g1.to(tl.float32)
        v2, v3 = v2 * g2.to(tl.float32), v3 * g3.to(tl.float32)
    total = _apart(tl.sum(v0 + v1 + v2 + v3, 4))
    if HALVES:
        larger, smaller = _powers(v0, v1, v2, v3)
        # Bits of a code are a float16 of 2^-24 times it.
        total *= _apart(larger[:, :, :, None]) * 2.0**-24
        root = root * smaller[:, :, :, None] * 2.0**24
        more = larger[:, :, :, None]
        v0, v1, v2, v3 = _pairs(v0, more), _pairs(v1, more), _pairs(v2, more), _pairs(v3, more)
    else:
        v0, v1, v2, v3 = _nibbles(v0), _nibbles(v1), _nibbles(v2), _nibbles(v3)
    for step in tl.range(STEPS, num_stages=1):
        c, c_size, c_zero, d, d_size, d_zero = a, a_size, a_zero, b, b_size, b_zero
        was = before
        if STEPS > 1:  # the next rows are on their way while these are added up
            further = tl.minimum(step + 1, STEPS - 1) + block
            before = load_before(out, further, OUTS, ROWS, ADD)
            a, a_size, a_zero = _codes(
                w, scale, zero, further, 0, OUTS, K, ROWS, SHARES, TEAMS, PARTS, FULL, HALVES
            )
            if GATED:
                b, b_size, b_zero = _codes(
                    w, scale, zero, further, OUTS, OUTS, K, ROWS, SHARES, TEAMS, PARTS, FULL, HALVES
                )
        y = _weigh(c, c_size, c_zero, v0, v1, v2, v3, total, root, ROWS, HALVES)
        z = y
        if GATED:
            z = _weigh(d, d_size, d_zero, v0, v1, v2, v3, total, root, ROWS, HALVES)
        finish(y, z, was, block + step, out, out, out, OUTS, ROWS, GATED, False)


@triton.jit
def _inputs(x, here, K: tl.constexpr):
    """Load x at four words, 8 inputs each, which is what one thread reads at a time."""
    return (
        tl.load(x + here, mask=here < K, other=0.0),
        tl.load(x + here + 8, mask=here < K, other=0.0),
        tl.load(x + here + 16, mask=here < K, other=0.0),
        tl.load(x + here + 24, mask=here < K, other=0.0),
    )


@triton.jit
def _codes(w, scale, zero, block, above: tl.constexpr, OUTS: tl.constexpr, K: tl.constexpr,
           ROWS: tl.constexpr, SHARES: tl.constexpr, TEAMS: tl.constexpr, PARTS: tl.constexpr,
           FULL: tl.constexpr, HALVES: tl.constexpr):  # fmt: skip
    """Load scales, zeros [32, TEAMS, SHARES, ROWS / TEAMS, PARTS] and words [the same, 4]."""
    lane = tl.arange(0, 32)
    if HALVES:
        # A compiler that sees how far groups go on gives several to a thread, and x moves.
        lane = tl.inline_asm_elementwise(
            "mov.b32 $0, $1;", "=r,r", [lane], dtype=tl.int32, is_pure=True, pack=1
        )
    start = (above + block * ROWS).to(tl.int64) * (K // 32)
    team = ROWS // TEAMS * tl.arange(0, TEAMS)[None, :, None, None, None]
    share = tl.arange(0, SHARES)[None, None, :, None, None]
    deep = tl.arange(0, ROWS // TEAMS)[None, None, None, :, None]
    part = SHARES * 32 * tl.arange(0, PARTS)[None, None, None, None, :]
    group = lane[:, None, None, None, None] + 32 * share
    # What differs between the registers of a thread is added last, as a constant.
    first, further = team * (K // 32) + group, deep * (K // 32) + part
    words = w + 4 * start + 4 * first[:, :, :, :, :, None]
    words = words + (4 * further[:, :, :, :, :, None] + tl.arange(0, 4))
    sizes, middles = scale + start + first + further, zero + start + first + further
    if FULL:
        return tl.load(words), tl.load(sizes), tl.load(middles)
    else:
        keep = (block * ROWS + team + deep < OUTS) & (group + part < K // 32)
        return (
            tl.load(words, mask=keep[:, :, :, :, :, None], other=0),
            tl.load(sizes, mask=keep, other=0.0),
            tl.load(middles, mask=keep, other=0),
        )


@triton.jit
def _powers(v0, v1, v2, v3):
    """Return the power of two that makes each thread's largest one 2^14 to 2^15, and its inverse.

    Tensors [32, TEAMS, SHARES] for v of [32, TEAMS, SHARES, PARTS, 8].
    """
    most = tl.maximum(tl.maximum(tl.abs(v0), tl.abs(v1)), tl.maximum(tl.abs(v2), tl.abs(v3)))
    bits = tl.max(tl.max(most, 4), 3).to(tl.int32, bitcast=True)
    # Not below 2^-107, where 2^-14 of it were no float.
    power = tl.maximum(bits & 0x7F800000, 20 << 23)
    larger = ((254 << 23) - power).to(tl.float32, bitcast=True) * 16384.0
    return larger, (power - (14 << 23)).to(tl.float32, bitcast=True)


@triton.jit
def _nibbles(v):
    """Return what each nibble of a word meets, eight tensors [32, TEAMS, SHARES, 1, PARTS]."""
    even, odd = tl.split(tl.reshape(v, [v.shape[0], v.shape[1], v.shape[2], v.shape[3], 2, 2, 2]))
    even, middle = tl.split(even)
    odd, last = tl.split(odd)
    v0, v4 = tl.split(even)
    v2, v6 = tl.split(middle)
    v1, v5 = tl.split(odd)
    v3, v7 = tl.split(last)
    return (
        _apart(v0), _apart(v1), _apart(v2), _apart(v3),
        _apart(v4), _apart(v5), _apart(v6), _apart(v7),
    )  # fmt: skip


@triton.jit
def _pairs(v, more):
    """Return ``more`` times that as four pairs of float16, those of nibbles 0 and 4 first."""
    v0, v1, v2, v3, v4, v5, v6, v7 = _nibbles(v)
    more = _apart(more)
    less = more / 16  # nibbles 1, 3, 5 and 7 are read 4 bits too high
    return (
        _pair(v0 * more, v4 * more), _pair(v1 * less, v5 * less),
        _pair(v2 * more, v6 * more), _pair(v3 * less, v7 * less),
    )  # fmt: skip


@triton.jit
def _apart(v):
    return v[:, :, :, None]  # [32, TEAMS, SHARES, 1, PARTS]


@triton.jit
def _pair(low, high):
    return tl.inline_asm_elementwise(
        "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,r,r", [low, high], dtype=tl.int32, is_pure=True, pack=1
    )


@triton.jit
def _weigh(words, size, zero, v0, v1, v2, v3, total, root, ROWS: tl.constexpr,
           HALVES: tl.constexpr):  # fmt: skip
    """Return root times the sums [ROWS] of (code - zero) * size * v, v as ``_pairs`` has it.

    total [32, TEAMS, SHARES, 1, PARTS]: of each group's v.
    """
    shape: tl.constexpr = size.shape
    even, odd = tl.split(
        tl.reshape(words, [shape[0], shape[1], shape[2], shape[3], shape[4], 2, 2])
    )
    w0, w2 = tl.split(even)
    w1, w3 = tl.split(odd)
    middle = zero.to(tl.float32)
    if HALVES:
        parts = _halves(w0, w1, v0, v1) + _halves(w2, w3, v2, v3)
    else:
        parts = _floats(w0, v0) + _floats(w1, v1) + _floats(w2, v2) + _floats(w3, v3)
        middle += 128.0
    y = tl.sum((parts - middle * total) * size, 4) * root  # [32, TEAMS, SHARES, ROWS / TEAMS]
    y = tl.permute(y, [1, 3, 2, 0])
    return tl.sum(tl.reshape(y, [ROWS, shape[0] * shape[2]]), 1)


@triton.jit
def _halves(a, b, v, u):
    """Return the float32 sums of two words' codes, read as float16, times v and u."""
    return tl.inline_asm_elementwise(
        """{
        .reg .b32 sum, two, rest;
        .reg .b16 low, high;
        .reg .f32 left, right;
        and.b32 two, $1, 0x000F000F;
        mul.rn.f16x2 sum, two, $3;
        and.b32 two, $1, 0x00F000F0;
        fma.rn.f16x2 sum, two, $4, sum;
        shr.u32 rest, $1, 8;
        and.b32 two, rest, 0x000F000F;
        fma.rn.f16x2 sum, two, $5, sum;
        and.b32 two, rest, 0x00F000F0;
        fma.rn.f16x2 sum, two, $6, sum;
        and.b32 two, $2, 0x000F000F;
        fma.rn.f16x2 sum, two, $7, sum;
        and.b32 two, $2, 0x00F000F0;
        fma.rn.f16x2 sum, two, $8, sum;
        shr.u32 rest, $2, 8;
        and.b32 two, rest, 0x000F000F;
        fma.rn.f16x2 sum, two, $9, sum;
        and.b32 two, rest, 0x00F000F0;
        fma.rn.f16x2 sum, two, $10, sum;
        mov.b32 {low, high}, sum;
        cvt.f32.f16 left, low;
        cvt.f32.f16 right, high;
        add.f32 $0, left, right;
        }""",
        "=f,r,r,r,r,r,r,r,r,r,r", [a, b, v[0], v[1], v[2], v[3], u[0], u[1], u[2], u[3]],
        dtype=tl.float32, is_pure=True, pack=1,
    )  # fmt: skip


@triton.jit
def _floats(words, v):
    """Return the sums of 128 + code times v of each word's eight codes."""
    parts = _code(words, 0) * v[0] + _code(words, 1) * v[1]
    for j in tl.static_range(2, 8):
        parts += _code(words, j) * v[j]
    return parts


@triton.jit
def _code(words, J: tl.constexpr):
    """Return 128 + the code in nibble J of each word.

    Bits 16 to 19 of a float of 128 are its units: a code put there is a float without the slow
    conversion of integers.
    """
    return ((((words >> (4 * J)) & 15) << 16) | 0x43000000).to(tl.float32, bitcast=True)
