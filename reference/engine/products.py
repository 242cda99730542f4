"""Products of a weight that is read once with few rows: one row by sums, more by tensor cores.

Like all in ``kernels`` they fetch weights before they wait for the kernels before them.
"""

import triton
import triton.language as tl

from reference.engine.kernels import begin


@triton.jit
def vector(
    x, gain, w, out, best, where, eps,
    K: tl.constexpr, OUTS: tl.constexpr, ROWS: tl.constexpr, STEPS: tl.constexpr,
    BLOCK: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr,
    BEST: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Multiply w [O, K] with one x [K]; each program has STEPS times ROWS outputs.

    NORM: x is first divided by its root mean square and multiplied with gain [K]. GATED: w is
    [2 O, K], and out = silu(first half) * second half. ADD: out holds what is added to. BEST: out
    is float32, and the largest of each ROWS and its place go to best and where. BLOCK >= K.
    """
    block = tl.program_id(0) * STEPS
    cols = tl.arange(0, BLOCK)
    first = _rows(w, block * ROWS, K, OUTS, ROWS, BLOCK)
    second = first
    if GATED:
        second = _rows(w + OUTS * K, block * ROWS, K, OUTS, ROWS, BLOCK)
    scale = cols
    if NORM:
        scale = tl.load(gain + cols, mask=cols < K, other=0.0)
    begin(PDL)
    v = tl.load(x + cols, mask=cols < K, other=0.0).to(tl.float32)
    root = 1.0
    if NORM:
        root = tl.rsqrt(tl.sum(v * v, 0) / K + eps)
        v *= scale.to(tl.float32)
    for step in tl.static_range(STEPS):
        here, there = first, second
        if step + 1 < STEPS:  # the next rows are on their way while these are added up
            first = _rows(w, (block + step + 1) * ROWS, K, OUTS, ROWS, BLOCK)
            if GATED:
                second = _rows(w + OUTS * K, (block + step + 1) * ROWS, K, OUTS, ROWS, BLOCK)
        y = tl.sum(here.to(tl.float32) * v[None, :], 1) * root
        z = y
        if GATED:
            z = tl.sum(there.to(tl.float32) * v[None, :], 1) * root
        before = load_before(out, block + step, OUTS, ROWS, ADD)
        finish(y, z, before, block + step, out, best, where, OUTS, ROWS, GATED, BEST)


@triton.jit
def _rows(w, start, K: tl.constexpr, OUTS: tl.constexpr, ROWS: tl.constexpr,
          BLOCK: tl.constexpr):  # fmt: skip
    """Load rows of w [O, K], 0 beyond its edges."""
    rows, cols = start + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    keep = (rows < OUTS)[:, None] & (cols < K)[None, :]
    return tl.load(w + rows.to(tl.int64)[:, None] * K + cols[None, :], mask=keep, other=0.0)


@triton.jit
def finish(y, z, before, block, out, best, where, OUTS: tl.constexpr, ROWS: tl.constexpr,
            GATED: tl.constexpr, BEST: tl.constexpr):  # fmt: skip
    """Store a block of outputs of one row, y gates z if GATED."""
    rows = block * ROWS + tl.arange(0, ROWS)
    if GATED:
        y = y * tl.sigmoid(y) * z
    y += before
    tl.store(out + rows, y.to(out.dtype.element_ty), mask=rows < OUTS)
    if BEST:
        y = tl.where(rows < OUTS, y, -float("inf"))
        top = tl.max(y, 0)
        tl.store(best + block, top, mask=block * ROWS < OUTS)
        tl.store(where + block, tl.min(tl.where(y == top, rows, OUTS), 0), mask=block * ROWS < OUTS)


@triton.jit
def tile(
    x, w, scale, zero, out, best, where, part, arrived, M,
    K: tl.constexpr, OUTS: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    COLS: tl.constexpr, BLOCK: tl.constexpr, SPLIT: tl.constexpr, GATED: tl.constexpr,
    ADD: tl.constexpr, BEST: tl.constexpr, STAGES: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Multiply w with M rows of x [M, K] into out [M, O]; options as ``vector`` has them, but NORM.

    Program (i, s) has COLS outputs of at most ROWS rows, and K / SPLIT of their inputs; the last of
    a tile to arrive adds what all left in part, float32 [tiles, SPLIT, 2 if GATED, ROWS, COLS], in
    their order. GROUP: 0, or that of codes of 4 bits. K is a multiple of SPLIT * BLOCK.
    """
    block, share = tl.program_id(0), tl.program_id(1)
    rows, cols = tl.arange(0, ROWS), block * COLS + tl.arange(0, COLS)
    size: tl.constexpr = K // SPLIT
    if PDL and GROUP == 0:
        _fetch(w, cols, share * size, size, K, OUTS, GATED)
    begin(PDL)
    y, z = tl.zeros([COLS, ROWS], tl.float32), tl.zeros([COLS, ROWS], tl.float32)
    for k in tl.range(share * size, (share + 1) * size, BLOCK, num_stages=STAGES):
        here = k + tl.arange(0, BLOCK)
        v = tl.load(x + rows[:, None] * K + here[None, :], mask=(rows < M)[:, None], other=0.0)
        some = _weights(w, scale, zero, cols, 0, OUTS, k, K, GROUP, COLS, BLOCK, v.dtype)
        y = tl.dot(some, tl.trans(v), y, input_precision="ieee")
        if GATED:
            some = _weights(w, scale, zero, cols, OUTS, OUTS, k, K, GROUP, COLS, BLOCK, v.dtype)
            z = tl.dot(some, tl.trans(v), z, input_precision="ieee")
    if SPLIT > 1:
        HALVES: tl.constexpr = 2 if GATED else 1
        TILE: tl.constexpr = ROWS * COLS
        STEP: tl.constexpr = HALVES * TILE
        shares = part + block * SPLIT * STEP
        inner = tl.arange(0, COLS)[:, None] * ROWS + rows[None, :]
        tl.store(shares + share * STEP + inner, y)
        if GATED:
            tl.store(shares + share * STEP + TILE + inner, z)
        tl.debug_barrier()
        if tl.atomic_add(arrived + block, 1, sem="acq_rel") < SPLIT - 1:
            return
        tl.store(arrived + block, 0)
        y, z = tl.zeros([COLS, ROWS], tl.float32), tl.zeros([COLS, ROWS], tl.float32)
        for other in tl.static_range(SPLIT):
            y += tl.load(shares + other * STEP + inner, cache_modifier=".cg")
            if GATED:
                z += tl.load(shares + other * STEP + TILE + inner, cache_modifier=".cg")
    if GATED:
        y = y * tl.sigmoid(y) * z
    target = out + rows[None, :].to(tl.int64) * OUTS + cols[:, None]
    keep = (cols < OUTS)[:, None] & (rows < M)[None, :]
    if ADD:
        y += tl.load(target, mask=keep, other=0.0).to(tl.float32)
    tl.store(target, y.to(out.dtype.element_ty), mask=keep)
    if BEST:
        y = tl.where((cols < OUTS)[:, None], y, -float("inf"))
        top = tl.max(y, 0)
        token = tl.min(tl.where(y == top[None, :], cols[:, None], OUTS), 0)
        spot = rows * tl.num_programs(0) + block
        tl.store(best + spot, top, mask=rows < M)
        tl.store(where + spot, token, mask=rows < M)


@triton.jit
def _weights(w, scale, zero, cols, above: tl.constexpr, OUTS: tl.constexpr, k, K: tl.constexpr,
             GROUP: tl.constexpr, COLS: tl.constexpr, BLOCK: tl.constexpr,
             dtype: tl.constexpr):  # fmt: skip
    """Load BLOCK inputs of the outputs ``cols``, dequantized if they are codes."""
    line, keep = (above + cols).to(tl.int64)[:, None], (cols < OUTS)[:, None]
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


@triton.jit
def _fetch(w, cols, start, size: tl.constexpr, K: tl.constexpr, OUTS: tl.constexpr,
           GATED: tl.constexpr):  # fmt: skip
    """Ask the L2 cache for the rows' inputs from start on; a line of it has 128 bytes."""
    LINE: tl.constexpr = 128 * 8 // w.dtype.element_ty.primitive_bitwidth
    BLOCK: tl.constexpr = 16
    line = tl.minimum(cols, OUTS - 1).to(tl.int64)[:, None] * K + start
    for first in tl.static_range(0, size, LINE * BLOCK):
        here = tl.minimum(first + LINE * tl.arange(0, BLOCK), size - 1)
        at = w + line + here[None, :]
        _ask(at)
        if GATED:
            _ask(at + OUTS * K)


@triton.jit
def _ask(at):
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [at.to(tl.int64)], dtype=tl.int32,
        is_pure=False, pack=1,
    )  # fmt: skip


@triton.jit
def load_before(out, block, OUTS: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr):
    """Load what a block of outputs is added to, as float32; 0 if there is nothing."""
    rows = block * ROWS + tl.arange(0, ROWS)
    if ADD:
        return tl.load(out + rows, mask=rows < OUTS, other=0.0).to(tl.float32)
    else:
        return 0.0
