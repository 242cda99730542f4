"""Products of a weight that is read once with few rows: one row by sums, more by tensor cores.

Like all in ``kernels`` they fetch weights before they wait for the kernels before them.
"""

# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportAttributeAccessIssue=false

import triton
import triton.language as tl

from reference.engine.kernels import begin


@triton.jit
def vector(
    x, gain, w, out, best, where, eps,
    K: tl.constexpr, O: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    NORM: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr, BEST: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Multiply w [O, K] with one x [K]; each program has ROWS outputs.

    NORM: x is first divided by its root mean square and multiplied with gain [K]. GATED: w is
    [2 O, K], and out = silu(first half) * second half. ADD: out holds what is added to. BEST: out
    is float32, and the largest of each program and its place go to best and where.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    at = w + rows.to(tl.int64)[:, None] * K + cols[None, :]
    keep = (rows < O)[:, None] & (cols < K)[None, :]
    first = tl.load(at, mask=keep, other=0.0)
    second = first
    if GATED:
        second = tl.load(at + O * K, mask=keep, other=0.0)
    begin(PDL)
    y, z = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32)
    square = tl.zeros([1], tl.float32)
    for k in tl.static_range(0, K, BLOCK):
        here = k + cols
        if k > 0:
            keep = (rows < O)[:, None] & (here < K)[None, :]
            first = tl.load(at + k, mask=keep, other=0.0)
            if GATED:
                second = tl.load(at + O * K + k, mask=keep, other=0.0)
        v = tl.load(x + here, mask=here < K, other=0.0).to(tl.float32)
        if NORM:
            square += tl.sum(v * v, 0)
            v *= tl.load(gain + here, mask=here < K, other=0.0).to(tl.float32)
        y += tl.sum(first.to(tl.float32) * v[None, :], 1)
        if GATED:
            z += tl.sum(second.to(tl.float32) * v[None, :], 1)
    if NORM:
        y, z = y * tl.rsqrt(square / K + eps), z * tl.rsqrt(square / K + eps)
    _finish(y, z, rows, out, best, where, O, GATED, ADD, BEST)


@triton.jit
def _finish(y, z, rows, out, best, where, O: tl.constexpr, GATED: tl.constexpr,
            ADD: tl.constexpr, BEST: tl.constexpr):  # fmt: skip
    """Store a program's outputs of one row, y gates z if GATED."""
    if GATED:
        y = y * tl.sigmoid(y) * z
    if ADD:
        y += tl.load(out + rows, mask=rows < O, other=0.0).to(tl.float32)
    tl.store(out + rows, y.to(out.dtype.element_ty), mask=rows < O)
    if BEST:
        y = tl.where(rows < O, y, -float("inf"))
        top = tl.max(y, 0)
        tl.store(best + tl.program_id(0), top)
        tl.store(where + tl.program_id(0), tl.min(tl.where(y == top, rows, O), 0))


@triton.jit
def vector4(
    x, gain, w, scale, zero, out, eps,
    K: tl.constexpr, O: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    GROUPS: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Do what ``vector`` does for codes of 4 bits, w int32 [O, K / 8], GROUPS groups at a time."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    words, sizes, zeros = _codes(w, scale, zero, rows, 0, O, 0, K, GROUP, GROUPS)
    words2, sizes2, zeros2 = words, sizes, zeros
    if GATED:
        words2, sizes2, zeros2 = _codes(w, scale, zero, rows, O, O, 0, K, GROUP, GROUPS)
    begin(PDL)
    y, z = tl.zeros([ROWS], tl.float32), tl.zeros([ROWS], tl.float32)
    square = tl.zeros([1], tl.float32)
    for first in tl.static_range(0, K // GROUP, GROUPS):
        if first > 0:
            words, sizes, zeros = _codes(w, scale, zero, rows, 0, O, first, K, GROUP, GROUPS)
            if GATED:
                words2, sizes2, zeros2 = _codes(w, scale, zero, rows, O, O, first, K, GROUP, GROUPS)
        here = (first + tl.arange(0, GROUPS))[:, None] * GROUP + 8 * tl.arange(0, GROUP // 8)
        inside = here < K
        part = tl.zeros([ROWS, GROUPS, GROUP // 8], tl.float32)
        part2 = tl.zeros([ROWS, GROUPS, GROUP // 8], tl.float32)
        for j in tl.static_range(8):
            v = tl.load(x + here + j, mask=inside, other=0.0).to(tl.float32)
            if NORM:
                square += tl.sum(tl.sum(v * v, 1), 0)
                v *= tl.load(gain + here + j, mask=inside, other=0.0).to(tl.float32)
            part += (_float(words, j) - zeros[:, :, None]) * v[None]
            if GATED:
                part2 += (_float(words2, j) - zeros2[:, :, None]) * v[None]
        y += tl.sum(tl.sum(part, 2) * sizes, 1)
        if GATED:
            z += tl.sum(tl.sum(part2, 2) * sizes2, 1)
    if NORM:
        y, z = y * tl.rsqrt(square / K + eps), z * tl.rsqrt(square / K + eps)
    _finish(y, z, rows, out, out, out, O, GATED, ADD, False)


@triton.jit
def _codes(w, scale, zero, rows, above: tl.constexpr, O: tl.constexpr, first: tl.constexpr,
           K: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr):  # fmt: skip
    """Load packed words [ROWS, GROUPS, GROUP / 8], and scale and zero [ROWS, GROUPS].

    A zero comes with 2**23 added, as ``_float`` has it.
    """
    group, word = first + tl.arange(0, GROUPS), tl.arange(0, GROUP // 8)
    keep = (rows < O)[:, None] & (group < K // GROUP)[None, :]
    line = (above + rows).to(tl.int64)[:, None] * (K // GROUP) + group[None, :]
    at = line[:, :, None] * (GROUP // 8) + word[None, None, :]
    words = tl.load(w + at, mask=keep[:, :, None], other=0)
    sizes = tl.load(scale + line, mask=keep, other=0.0)
    zeros = tl.load(zero + line, mask=keep, other=0)
    return words, sizes, (zeros.to(tl.int32) | 0x4B000000).to(tl.float32, bitcast=True)


@triton.jit
def _float(words, J: tl.constexpr):
    """Return the code in nibble J of each word, and 2**23, whose last bits as a float it is.

    Converting integers takes four times as long.
    """
    return (((words >> (4 * J)) & 15) | 0x4B000000).to(tl.float32, bitcast=True)


@triton.jit
def tile(
    x, gain, w, scale, zero, out, best, where, part, arrived, M, eps,
    K: tl.constexpr, O: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
    BLOCK: tl.constexpr, SPLIT: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr,
    ADD: tl.constexpr, BEST: tl.constexpr, STAGES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Multiply w with M rows of x [M, K] into out [M, O]; options as ``vector`` has them.

    Program (i, s) has COLS outputs of at most ROWS rows, and K / SPLIT of their inputs; the last of
    a tile to arrive adds what all left in part, float32 [tiles, SPLIT, 2 if GATED, ROWS, COLS], in
    their order. GROUP: 0, or that of codes of 4 bits. K is a multiple of SPLIT * BLOCK.
    """
    block, share = tl.program_id(0), tl.program_id(1)
    rows, cols = tl.arange(0, ROWS), block * COLS + tl.arange(0, COLS)
    begin(PDL)
    y, z = tl.zeros([COLS, ROWS], tl.float32), tl.zeros([COLS, ROWS], tl.float32)
    square = tl.zeros([ROWS], tl.float32)
    size: tl.constexpr = K // SPLIT
    for k in tl.range(share * size, (share + 1) * size, BLOCK, num_stages=STAGES):
        here = k + tl.arange(0, BLOCK)
        v = tl.load(x + rows[:, None] * K + here[None, :], mask=(rows < M)[:, None], other=0.0)
        if NORM:
            wide = v.to(tl.float32)
            square += tl.sum(wide * wide, 1)
            v = (wide * tl.load(gain + here).to(tl.float32)[None, :]).to(v.dtype)
        some = _weights(w, scale, zero, cols, 0, O, k, K, GROUP, COLS, BLOCK, v.dtype)
        y = tl.dot(some, tl.trans(v), y, input_precision="ieee")
        if GATED:
            some = _weights(w, scale, zero, cols, O, O, k, K, GROUP, COLS, BLOCK, v.dtype)
            z = tl.dot(some, tl.trans(v), z, input_precision="ieee")
    if SPLIT > 1:
        HALVES: tl.constexpr = 2 if GATED else 1
        TILE: tl.constexpr = ROWS * COLS
        STEP: tl.constexpr = HALVES * TILE + ROWS
        left = part + block * SPLIT * STEP
        inner = tl.arange(0, COLS)[:, None] * ROWS + rows[None, :]
        tl.store(left + share * STEP + inner, y)
        if GATED:
            tl.store(left + share * STEP + TILE + inner, z)
        if NORM:
            tl.store(left + share * STEP + HALVES * TILE + rows, square)
        tl.debug_barrier()
        if tl.atomic_add(arrived + block, 1, sem="acq_rel") < SPLIT - 1:
            return
        tl.store(arrived + block, 0)
        y, z = tl.zeros([COLS, ROWS], tl.float32), tl.zeros([COLS, ROWS], tl.float32)
        square = tl.zeros([ROWS], tl.float32)
        for other in tl.static_range(SPLIT):
            y += tl.load(left + other * STEP + inner, cache_modifier=".cg")
            if GATED:
                z += tl.load(left + other * STEP + TILE + inner, cache_modifier=".cg")
            if NORM:
                square += tl.load(left + other * STEP + HALVES * TILE + rows, cache_modifier=".cg")
    if NORM:
        root = tl.rsqrt(square / K + eps)[None, :]
        y, z = y * root, z * root
    if GATED:
        y = y * tl.sigmoid(y) * z
    target = out + rows[None, :].to(tl.int64) * O + cols[:, None]
    keep = (cols < O)[:, None] & (rows < M)[None, :]
    if ADD:
        y += tl.load(target, mask=keep, other=0.0).to(tl.float32)
    tl.store(target, y.to(out.dtype.element_ty), mask=keep)
    if BEST:
        y = tl.where((cols < O)[:, None], y, -float("inf"))
        top = tl.max(y, 0)
        token = tl.min(tl.where(y == top[None, :], cols[:, None], O), 0)
        spot = rows * tl.num_programs(0) + block
        tl.store(best + spot, top, mask=rows < M)
        tl.store(where + spot, token, mask=rows < M)


@triton.jit
def _weights(w, scale, zero, cols, above: tl.constexpr, O: tl.constexpr, k, K: tl.constexpr,
             GROUP: tl.constexpr, COLS: tl.constexpr, BLOCK: tl.constexpr,
             dtype: tl.constexpr):  # fmt: skip
    """Load BLOCK inputs of the outputs ``cols``, dequantized if they are codes."""
    line, keep = (above + cols).to(tl.int64)[:, None], (cols < O)[:, None]
    if GROUP == 0:
        here = k + tl.arange(0, BLOCK)
        some = tl.load(w + line * K + here[None, :], mask=keep, other=0.0)
    else:
        half = tl.arange(0, BLOCK // 2)
        packed = tl.load(w + line * (K // 2) + (k // 2 + half)[None, :], mask=keep, other=0)
        packed = packed.to(tl.int32)
        code = tl.interleave(packed & 15, packed >> 4)
        step = line * (K // GROUP) + (k // GROUP + tl.arange(0, BLOCK // GROUP))[None, :]
        size = tl.load(scale + step, mask=keep, other=0.0)
        middle = tl.load(zero + step, mask=keep, other=0).to(tl.int32)
        code = tl.reshape(code, [COLS, BLOCK // GROUP, GROUP]) - middle[:, :, None]
        value = code.to(tl.float32) * size[:, :, None]
        some = tl.reshape(value, [COLS, BLOCK]).to(dtype)
    return some
