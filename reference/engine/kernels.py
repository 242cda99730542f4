"""Triton kernels of a decode step whose weights stream past a batch of 1 to 64 rows.

A step of a small batch waits for weights and for launches. So a layer is five kernels: what lies
between two products is computed by the one before or behind. All are made for programmatic
dependent launch: a kernel starts while its predecessor still runs, fetches weights, which nobody
writes, and waits only then. What a kernel reads beside weights it reads after ``begin``.

Sums are in float32 and in an order that does not depend on which program ends first.

Letters: M rows of x, K inputs and O outputs of a product, E model width, H query heads, G
key/value heads, D head width, V vocabulary.
"""

import triton
import triton.language as tl


@triton.jit
def begin(PDL: tl.constexpr):
    """Let the next kernel start, then wait for all before and what they have written."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


@triton.jit
def embed(tokens, table, x, E, COLS: tl.constexpr, PDL: tl.constexpr):
    """Put the row of each token's embedding into x [M, E]; one program for each row.

    It waits before it lets others start, so that no kernel of a step meets the step before.
    """
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, COLS)
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    token = tl.load(tokens + row)
    values = tl.load(table + token * E + cols, mask=cols < E)
    tl.store(x + row * E + cols, values, mask=cols < E)


@triton.jit
def normalize(x, gain, out, E, eps, COLS: tl.constexpr, PDL: tl.constexpr):
    """Divide each row of x [M, E] by its root mean square, multiply with gain [E]."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, COLS)
    keep = cols < E
    scale = tl.load(gain + cols, mask=keep, other=0.0).to(tl.float32)
    begin(PDL)
    values = tl.load(x + row * E + cols, mask=keep, other=0.0).to(tl.float32)
    values *= tl.rsqrt(tl.sum(values * values, 0) / E + eps) * scale
    tl.store(out + row * E + cols, values.to(out.dtype.element_ty), mask=keep)


@triton.jit
def choose(
    best, where, tokens, positions, history, count, last, BLOCK: tl.constexpr, PDL: tl.constexpr
):
    """Make the best of all blocks each row's next token, one place further, and note it.

    best, where [M, count]: largest logit and its token of each block of the vocabulary; history
    [M, last + 1]: the token chosen at each position. Of equal ones the first is taken.
    """
    row = tl.program_id(0)
    blocks = tl.arange(0, BLOCK)
    begin(PDL)
    values = tl.load(best + row * count + blocks, mask=blocks < count, other=-float("inf"))
    token = tl.load(where + row * count + tl.argmax(values, 0, tie_break_left=True)).to(tl.int64)
    position = tl.load(positions + row)
    tl.store(history + row * (last + 1) + position, token)
    tl.store(tokens + row, token)
    tl.store(positions + row, tl.minimum(position + 1, last))


@triton.jit
def attend(
    qkv, cos, sin, keys, values, positions, slots, part, arrived, out, max_len, most, scale,
    H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, CHUNK: tl.constexpr,
    KEYS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Turn a new token's query and key, write its key and value, attend to its slot's places.

    qkv [M, (H + 2 G) D]; cos, sin float32 [max_len, D / 2]; keys, values [slots + 1, G, max_len,
    D]; out [M, H D]. Program (chunk, g, row) sees CHUNK places of one head. With several chunks the
    last to arrive merges what all have left in part, float32 [M, G, most, HEADS, D + 2], and sets
    arrived [M, G] back to 0. scale: log2(e) / sqrt(D). HEADS: H / G or more, at least 16.
    """
    chunk, g, row = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    S: tl.constexpr = H // G
    HALF: tl.constexpr = D // 2
    half, wide = tl.arange(0, HALF), tl.arange(0, D)
    head = tl.arange(0, HEADS)
    mine = (head < S)[:, None]
    # Positions, slots and older places are as the step before left them: they need no wait.
    position = tl.load(positions + row)
    start = chunk * CHUNK
    if start > position:
        begin(PDL)
        return
    slot = tl.load(slots + row)
    c, s = tl.load(cos + position * HALF + half), tl.load(sin + position * HALF + half)
    memory = (slot * G + g) * max_len * D
    left, right, v = _places(keys + memory, values + memory, start, position, D, KEYS)
    begin(PDL)
    new = qkv + row * (H + 2 * G) * D
    query = new + (g * S + head)[:, None] * D + half[None, :]
    q1 = tl.load(query, mask=mine, other=0.0).to(tl.float32)
    q2 = tl.load(query + HALF, mask=mine, other=0.0).to(tl.float32)
    k1 = tl.load(new + (H + g) * D + half).to(tl.float32)
    k2 = tl.load(new + (H + g) * D + HALF + half).to(tl.float32)
    dtype: tl.constexpr = keys.dtype.element_ty
    new_value = tl.load(new + (H + G + g) * D + wide).to(dtype)
    turned1 = (q1 * c[None, :] - q2 * s[None, :]).to(dtype)
    turned2 = (q2 * c[None, :] + q1 * s[None, :]).to(dtype)
    new1, new2 = (k1 * c - k2 * s).to(dtype), (k2 * c + k1 * s).to(dtype)
    if position < start + CHUNK:
        tl.store(keys + memory + position * D + half, new1)
        tl.store(keys + memory + position * D + HALF + half, new2)
        tl.store(values + memory + position * D + wide, new_value)
    top = tl.full([HEADS], -float("inf"), tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    mixed = tl.zeros([HEADS, D], tl.float32)
    for first in range(start, tl.minimum(start + CHUNK, position + 1), KEYS):
        place = first + tl.arange(0, KEYS)
        now = (place == position)[:, None]
        # The new token's own, which may not have arrived in memory yet.
        left = tl.where(now, new1[None, :], left)
        right = tl.where(now, new2[None, :], right)
        v = tl.where(now, new_value[None, :], v)
        score = tl.dot(turned1, tl.trans(left), input_precision="ieee")
        score = tl.dot(turned2, tl.trans(right), score, input_precision="ieee") * scale
        score = tl.where((place <= position)[None, :], score, -float("inf"))
        larger = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp2(score - larger[:, None])
        shrink = tl.exp2(top - larger)
        total = total * shrink + tl.sum(weight, 1)
        mixed = mixed * shrink[:, None]
        mixed = tl.dot(weight.to(dtype), v, mixed, input_precision="ieee")
        top = larger
        if KEYS < CHUNK:
            left, right, v = _places(
                keys + memory, values + memory, first + KEYS, position, D, KEYS
            )
    target = out + row * H * D + (g * S + head)[:, None] * D + wide[None, :]
    chunks = position // CHUNK + 1
    if chunks == 1:
        tl.store(target, (mixed / total[:, None]).to(out.dtype.element_ty), mask=mine)
        return
    STEP: tl.constexpr = HEADS * (D + 2)
    shares = part + (row * G + g) * most * STEP
    tl.store(shares + chunk * STEP + head[:, None] * D + wide[None, :], mixed)
    tl.store(shares + chunk * STEP + HEADS * D + head, top)
    tl.store(shares + chunk * STEP + HEADS * D + HEADS + head, total)
    tl.debug_barrier()
    if tl.atomic_add(arrived + row * G + g, 1, sem="acq_rel") < chunks - 1:
        return
    tl.store(arrived + row * G + g, 0)
    top = tl.full([HEADS], -float("inf"), tl.float32)
    total = tl.zeros([HEADS], tl.float32)
    mixed = tl.zeros([HEADS, D], tl.float32)
    for other in range(0, chunks):
        share = shares + other * STEP
        some = tl.load(share + head[:, None] * D + wide[None, :], cache_modifier=".cg")
        high = tl.load(share + HEADS * D + head, cache_modifier=".cg")
        larger = tl.maximum(top, high)
        shrink, grow = tl.exp2(top - larger), tl.exp2(high - larger)
        sums = tl.load(share + HEADS * D + HEADS + head, cache_modifier=".cg")
        total = total * shrink + sums * grow
        mixed = mixed * shrink[:, None] + some * grow[:, None]
        top = larger
    tl.store(target, (mixed / total[:, None]).to(out.dtype.element_ty), mask=mine)


@triton.jit
def _places(keys, values, first, position, D: tl.constexpr, KEYS: tl.constexpr):
    """Load both halves of KEYS keys [KEYS, D / 2], and their values, 0 from ``position`` on."""
    HALF: tl.constexpr = D // 2
    place = first + tl.arange(0, KEYS)
    half, old = tl.arange(0, HALF)[None, :], (place < position)[:, None]
    at = place[:, None] * D
    left = tl.load(keys + at + half, mask=old, other=0.0)
    right = tl.load(keys + at + HALF + half, mask=old, other=0.0)
    v = tl.load(values + at + tl.arange(0, D)[None, :], mask=old, other=0.0)
    return left, right, v
