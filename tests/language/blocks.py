"""Names that make blocks, change their shape, reduce, scan and sort them."""

from collections.abc import Iterator

import torch

from language.case import EXACT, NEAR, Case, N, by_lane, normal, tile, whole
from language.elementwise import BF16, F16, F32, F64, FLOATS, I8, I32, I64

X = normal(4, 8)
SHAPE = (4, 8)
ACROSS, DOWN = "tl.arange(0, 4)", "tl.arange(0, 8)"  # where results by row and by column lie
MORE = """
@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def _linear(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1
"""


def _tile(name, call, want, tried="", stored="flat", near=None, x=X, before=""):
    allowed = NEAR.get(want.dtype, EXACT) if near is None else near
    body = tile(call, 1, tuple(x.shape), stored)
    return Case(name, tried or "float32", body, (x,), want, allowed, before=before)


def made() -> Iterator[Case]:
    yield by_lane("arange", "tl.arange(0, 16)", [], torch.arange(N, dtype=I32))
    yield by_lane("arange", "tl.arange(16, 32)", [], torch.arange(16, 32, dtype=I32), "from 16")
    for kind, name in ((F32, "float32"), (BF16, "bfloat16"), (I64, "int64")):
        want = torch.full((N,), 2.5).to(kind)
        value = "2.5" if kind.is_floating_point else "2"
        yield by_lane("full", f"tl.full((16,), {value}, tl.{name})", [], want)
        yield by_lane("zeros", f"tl.zeros((16,), tl.{name})", [], want * 0)
    x = normal(N, dtype=BF16)
    yield by_lane("zeros_like", "tl.zeros_like(a)", [x], x * 0)


def shaped() -> Iterator[Case]:
    flat = "tl.arange(0, 32)"
    turned = "tl.arange(0, 8)[:, None] * 4 + tl.arange(0, 4)[None, :]"
    yield _tile("trans", "tl.trans(a)", X.T.contiguous(), stored=turned)
    yield _tile("permute", "tl.permute(a, (1, 0))", X.T.contiguous(), stored=turned)
    yield _tile("ravel", "tl.ravel(a)", X.flatten(), stored=flat)
    yield _tile("reshape", "tl.reshape(a, (8, 4))", X.view(8, 4), stored=turned)
    yield _tile("view", "tl.view(a, (8, 4))", X.view(8, 4), stored=turned)
    yield _tile("flip", "tl.flip(a, 1)", X.flip(1), "last axis")
    yield _tile("flip", "tl.flip(a, 0)", X.flip(0), "first axis")
    for name, call in (
        ("expand_dims", "tl.expand_dims(a, 0)"),
        ("unsqueeze", "tl.unsqueeze(a, 0)"),
    ):
        yield _tile(name, f"tl.reshape({call}, (4, 8))", X)
    yield _tile("squeeze", "tl.squeeze(tl.expand_dims(a, 0), 0)", X)
    row = normal(8)
    body = "c = tl.arange(0, 8)\nr = tl.arange(0, 4)\na = tl.load(x + c)\n{}"
    where = "out + r[:, None] * 8 + c[None, :]"
    wide = row.expand(4, 8).contiguous()
    store = f"tl.store({where}, tl.broadcast_to(a[None, :], (4, 8)))"
    yield Case("broadcast_to", "a row", body.format(store), (row,), wide)
    store = f"b, _ = tl.broadcast(a[None, :], r[:, None])\ntl.store({where}, b)"
    yield Case("broadcast", "a row and a column", body.format(store), (row,), wide)
    a, b = normal(N), normal(N, seed=2)
    pair = torch.stack((a, b), -1)
    paired = "i[:, None] * 2 + tl.arange(0, 2)[None, :]"
    loads = "i = tl.arange(0, 16)\na = tl.load(x + i)\nb = tl.load(y + i)\n"
    yield Case("join", "", f"{loads}tl.store(out + {paired}, tl.join(a, b))", (a, b), pair)
    body = f"i = tl.arange(0, 16)\np = tl.load(x + {paired})\ne, o = tl.split(p)\n"
    yield Case("split", "", f"{body}tl.store(out + i, e - o)", (pair,), a - b)
    yield by_lane("interleave", "tl.interleave(a, b)", [a, b], pair.flatten())
    yield by_lane("cat", "tl.cat(a, b)", [a, b], torch.cat((a, b)))
    call = "tl.cat(a, b, can_reorder=True)"
    yield by_lane("cat", call, [a, b], torch.cat((a, b)), "can_reorder")


def reduced() -> Iterator[Case]:
    for kind in (*FLOATS, I32):
        x = whole(4, 8, dtype=I32).to(kind)
        yield _tile("sum", "tl.sum(a, axis=1)", x.sum(1).to(kind), str(kind)[6:], ACROSS, x=x)
        for name in ("max", "min"):
            want = getattr(torch, f"a{name}")(x, 0)
            yield _tile(name, f"tl.{name}(a, axis=0)", want, str(kind)[6:], DOWN, x=x)
    small = whole(4, 8, low=-100, high=100, dtype=I8)
    yield _tile("sum", "tl.sum(a, axis=1)", small.sum(1).to(I32), "int8 to int32", ACROSS, x=small)
    call = "tl.sum(a, axis=1, dtype=tl.float32)"
    halves = normal(4, 8, dtype=F16)
    yield _tile("sum", call, halves.float().sum(1), "dtype=", ACROSS, x=halves)
    every = X.sum().expand(4, 8).contiguous()
    yield _tile("sum", "tl.sum(a) + tl.zeros((4, 8), tl.float32)", every, "all axes")
    call = "tl.sum(a, axis=1, keep_dims=True) + tl.zeros((4, 8), tl.float32)"
    yield _tile("sum", call, X.sum(1, keepdim=True).expand(4, 8).contiguous(), "keep_dims")
    ties = whole(4, 8, low=0, high=3, dtype=F32)
    odd = ties.clone()
    odd[0, 3] = odd[2] = float("nan")
    for name in ("argmax", "argmin"):
        first = torch.stack([(row == getattr(row, name[3:])()).nonzero()[0, 0] for row in ties])
        yield _tile(name, f"tl.{name}(a, axis=1)", first.to(I32), "ties", ACROSS, x=ties)
        distinct = X.argmax(1) if name == "argmax" else X.argmin(1)
        call = f"tl.{name}(a, axis=1, tie_break_left=False)"
        yield _tile(name, call, distinct.to(I32), "tie_break_left=False", ACROSS)
        best = name[3:]
        call = f"tl.{best}(a, axis=1, return_indices=True)[1]"
        yield _tile(best, call, first.to(I32), "return_indices", ACROSS, x=ties)
    call = "tl.max(a, axis=1)"
    want = torch.stack([row[~row.isnan()].max() if (row == row).any() else row[0] for row in odd])
    yield _tile("max", call, want, "NaN is left out", ACROSS, x=odd)
    flags = whole(4, 8, low=0, high=2, dtype=I32)
    flags[1] = 0
    call = "tl.reduce_or(a, axis=1)"
    yield _tile("reduce_or", call, flags.amax(1), "int32", ACROSS, x=flags)
    for kind in (I32, I64):
        bits = whole(4, 8, low=0, high=999, dtype=kind)
        want = bits[:, 0].clone()
        for column in range(1, 8):
            want ^= bits[:, column]
        yield _tile("xor_sum", "tl.xor_sum(a, axis=1)", want, str(kind)[6:], ACROSS, x=bits)
    call = "tl.reduce(a, 1, _add)"
    yield _tile("reduce", call, X.sum(1), "own function", ACROSS, before=MORE)
    call = "tl.reduce((a, a * 2), 1, _linear)[0]"
    yield _tile("reduce", call, X.prod(1), "a tuple", ACROSS, before=MORE, near=1e-5)
    for kind in (F32, F64):
        soft = X.to(kind)
        want = torch.softmax(soft, 1)
        yield _tile("softmax", "tl.softmax(a, 1)", want, str(kind)[6:], x=soft, near=1e-5)


def scanned() -> Iterator[Case]:
    for kind in (*FLOATS, I32):
        x = whole(4, 8, low=-9, high=9, dtype=I32).to(kind)
        yield _tile("cumsum", "tl.cumsum(a, 1)", x.cumsum(1).to(kind), str(kind)[6:], x=x)
        factors = whole(4, 8, low=1, high=3, dtype=I32).to(kind)
        want = factors.cumprod(0).to(kind)
        yield _tile("cumprod", "tl.cumprod(a, 0)", want, str(kind)[6:], x=factors)
        order = x.sort(1).values
        yield _tile("sort", "tl.sort(a)", order, str(kind)[6:], x=x)
        yield _tile("topk", "tl.topk(a, 2)", order.flip(1)[:, :2].contiguous(), str(kind)[6:],
                    "tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]", x=x)  # fmt: skip
    back = X.flip(1).cumsum(1).flip(1)
    yield _tile("cumsum", "tl.cumsum(a, 1, reverse=True)", back, "reverse")
    small = whole(4, 8, dtype=I8)
    call = "tl.cumsum(a, 1, dtype=tl.int32)"
    yield _tile("cumsum", call, small.cumsum(1).to(I32), "dtype=", x=small)
    products = X.flip(0).cumprod(0).flip(0)
    yield _tile("cumprod", "tl.cumprod(a, 0, reverse=True)", products, "reverse")
    down = X.sort(1, descending=True).values
    yield _tile("sort", "tl.sort(a, descending=True)", down, "descending")
    least = X.sort(1).values[:, :2].contiguous()
    yield _tile("topk", "tl.topk(a, 2, descending=False)", least, "descending=False",
                "tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :]")  # fmt: skip
    halves = torch.cat((X[:, :4].sort(1).values, X[:, 4:].sort(1, descending=True).values), 1)
    yield _tile("bitonic_merge", "tl.bitonic_merge(a)", X.sort(1).values, "float32", x=halves)
    call = "tl.associative_scan(a, 1, _add)"
    yield _tile("associative_scan", call, X.cumsum(1), "own function", before=MORE)
    call = "tl.associative_scan(a, 1, _add, reverse=True)"
    yield _tile("associative_scan", call, back, "reverse", before=MORE)
    state, states = torch.zeros(4), []
    for column in range(8):
        state = state * X[:, column] + 2 * X[:, column]
        states.append(state)
    call = "tl.associative_scan((a, a * 2), 1, _linear)[1]"
    want = torch.stack(states, 1)
    yield _tile("associative_scan", call, want, "a tuple", before=MORE, near=1e-5)
    halves = whole(4, 8, low=-9, high=9, dtype=I32).to(BF16)
    call = "tl.associative_scan(a, 1, _add)"
    yield _tile("associative_scan", call, halves.cumsum(1), "bfloat16", before=MORE, x=halves)


def counted() -> Iterator[Case]:
    bins = whole(32, low=0, high=8, dtype=I32)
    want = torch.bincount(bins, minlength=8).to(I32)
    yield by_lane("histogram", "tl.histogram(a, 8)", [bins], want)
    some = torch.bincount(bins[:20], minlength=8).to(I32)
    yield by_lane("histogram", "tl.histogram(a, 8, mask=i < 20)", [bins], some, "mask")
    places = whole(4, 8, low=0, high=8, dtype=I32)
    body = tile("tl.gather(a, b, 1)", 2, SHAPE)
    yield Case("gather", "last axis", body, (X, places), X.gather(1, places.long()))
    places = whole(4, 8, low=0, high=4, dtype=I32)
    body = tile("tl.gather(a, b, 0)", 2, SHAPE)
    yield Case("gather", "first axis", body, (X, places), X.gather(0, places.long()))
    halves = X.to(BF16)
    yield Case("gather", "bfloat16", body, (halves, places), halves.gather(0, places.long()))


def cases() -> Iterator[Case]:
    yield from made()
    yield from shaped()
    yield from reduced()
    yield from scanned()
    yield from counted()
