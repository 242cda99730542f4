"""Names that load, store and add in memory: pointers, atomics, descriptors."""

from collections.abc import Iterator

import torch

from language.case import EXACT, Case, N, by_lane, normal, whole
from language.elementwise import BF16, F16, F32, F64, I32, I64, U32, U64

SEMS = ("relaxed", "acquire", "release", "acq_rel")
EACH = "each sem with each scope"
SCOPES = ("gpu", "cta", "sys")


def plain() -> Iterator[Case]:
    x = normal(N)
    other = torch.where(torch.arange(N) < 9, x, 3.0)
    yield by_lane("load", "tl.load(x + i, mask=i < 9, other=3.0)", [x], other, "mask and other")
    for option in ('cache_modifier=".ca"', 'cache_modifier=".cg"', "volatile=True"):
        yield by_lane("load", f"tl.load(x + i, {option})", [x], x, option.replace('"', ""))
    for option in ('eviction_policy="evict_first"', 'eviction_policy="evict_last"'):
        yield by_lane("load", f"tl.load(x + i, {option})", [x], x, option.replace('"', ""))
    yield by_lane("load", "tl.load(x + 3) + i", [x], x[3] + torch.arange(N), "one number")
    body = "i = tl.arange(0, 16)\ntl.store(out + i, tl.load(x + i), mask=i < 9{})"
    want = torch.where(torch.arange(N) < 9, x, 0.0)
    yield Case("store", "mask", body.format(""), (x,), want, EXACT)
    for option in ('cache_modifier=".wb"', 'eviction_policy="evict_first"'):
        text = body.format(f", {option}")
        yield Case("store", option.replace('"', ""), text, (x,), want, EXACT)
    body = "i = tl.arange(0, 16)\ntl.store(out + i, tl.load(x + i))"
    for kind in (F16, BF16):
        yield Case("store", f"float32 as {str(kind)[6:]}", body, (x,), x.to(kind), EXACT)


ATOMICS = {
    "add": (F32, F64, F16, BF16, I32, I64, U32, U64),
    "max": (F32, F64, I32, I64, U32, U64),
    "min": (F32, F64, I32, I64, U32, U64),
    "and": (I32, I64, U32),
    "or": (I32, I64, U32),
    "xor": (I32, I64, U32),
    "xchg": (F32, I32, I64, F64),
}
FOLD = {"add": "add", "max": "maximum", "min": "minimum", "and": "bitwise_and"}
FOLD |= {"or": "bitwise_or", "xor": "bitwise_xor"}


def atomics() -> Iterator[Case]:
    """Each of 16 lanes changes one of four numbers, and the numbers are looked at."""
    for name, kinds in ATOMICS.items():
        for kind in kinds:
            yield _folded(name, kind, "", str(kind)[6:])
    for name in ("add", "max", "xchg", "and"):
        kind = F32 if name == "add" else I32
        for sem in SEMS:
            for scope in SCOPES:
                options = f', sem="{sem}", scope="{scope}"'
                yield _folded(name, kind, options, EACH)
    x = whole(N, dtype=I32)
    body = "i = tl.arange(0, 16)\nold = tl.atomic_add(x + i, 5)\ntl.store(out + i, old)"
    yield Case("atomic_add", "what was there", body, (x,), x)
    body = "i = tl.arange(0, 16)\ntl.atomic_add(out + i, tl.load(x + i), mask=i < 9)"
    yield Case("atomic_add", "mask", body, (x,), torch.where(torch.arange(N) < 9, x, 0))


def _folded(name: str, kind: torch.dtype, options: str, tried: str) -> Case:
    signed = kind.is_floating_point or kind in (I32, I64)
    x = whole(N, low=-9 if signed else 0, high=9, dtype=I64).to(kind)
    if name == "xchg":
        body = f"i = tl.arange(0, 16)\ntl.atomic_xchg(out + i, tl.load(x + i){options})"
        return Case("atomic_xchg", tried, body, (x,), x)
    start = torch.zeros(4, dtype=I64)
    for lane, value in enumerate(x.to(I64).tolist()):
        fold = getattr(torch, FOLD[name])
        start[lane % 4] = fold(start[lane % 4], torch.tensor(value))
    body = f"i = tl.arange(0, 16)\ntl.atomic_{name}(out + i % 4, tl.load(x + i){options})"
    return Case(f"atomic_{name}", tried, body, (x,), start.to(kind))


def compared() -> Iterator[Case]:
    x = torch.arange(N, dtype=I32) % 2
    for kind in (I32, I64):
        body = "i = tl.arange(0, 16)\nold = tl.atomic_cas(x + i, {0}, {1})\ntl.store(out + i, {2})"
        zero, seven = (f"tl.full((16,), {n}, tl.{str(kind)[6:]})" for n in (0, 7))
        ins = (x.to(kind),)
        text = body.format(zero, seven, "old")
        yield Case("atomic_cas", f"{str(kind)[6:]} what was there", text, ins, x.to(kind))
        text = body.format(zero, seven, "tl.load(x + i)")
        yield Case("atomic_cas", str(kind)[6:], text, ins, torch.where(x == 0, 7, x).to(kind))
    for sem in SEMS:
        for scope in SCOPES:
            body = f"""
            while tl.atomic_cas(x, 0, 1, sem="{sem}", scope="{scope}") == 1:
                pass
            tl.store(out, tl.load(out) + 1)
            tl.atomic_xchg(x, 0)
            """
            want = torch.full((1,), 3.0)
            tried = EACH
            yield Case("atomic_cas", tried, body, (x[:1],), want, grid=(3,))
    for sem in ("relaxed", "acquire"):
        for scope in SCOPES:
            call = f'tl.atomic_load(x + i, sem="{sem}", scope="{scope}")'
            yield by_lane("atomic_load", call, [x], x, EACH)
    for sem in ("relaxed", "release"):
        for scope in SCOPES:
            call = f'tl.atomic_store(out + i, tl.load(x + i), sem="{sem}", scope="{scope}")'
            body = f"i = tl.arange(0, 16)\n{call}"
            yield Case("atomic_store", EACH, body, (x,), x)
    call = "tl.atomic_poll(x + i, a).to(tl.int32)"
    yield by_lane("atomic_poll", call, [x], torch.ones(N, dtype=I32), "what is there already")
    call = "tl.atomic_poll(x + i, 1, timeout_ns=1000).to(tl.int32)"
    yield by_lane("atomic_poll", call, [x], x, "timeout_ns")


MADE = "d = tl.make_tensor_descriptor({0}, [10, 24], [24, 1], [4, 16])\n"


def descriptors() -> Iterator[Case]:
    whole_ = normal(10, 24)
    cut = torch.zeros(4, 16)
    cut[:2, :8] = whole_[8:, 16:]
    flat = "tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]"
    for kind in (F32, F16, BF16):
        ins, want = (whole_.to(kind),), cut.to(kind)
        body = MADE.format("x") + f"tl.store(out + {flat}, d.load([8, 16]))"
        yield Case("make_tensor_descriptor", f"load {str(kind)[6:]} cut", body, ins, want, EXACT)
    body = MADE.format("x") + f"tl.store(out + {flat}, tl.load_tensor_descriptor(d, [8, 16]))"
    yield Case("load_tensor_descriptor", "cut at the edge", body, (whole_,), cut, EXACT)
    yield Case("tensor_descriptor", "load", body, (whole_,), cut, EXACT)
    odd = MADE.format("x").replace("16])", '16], padding_option="nan")')
    body = odd + f"tl.store(out + {flat}, d.load([8, 16]))"
    want = torch.where(torch.arange(16) < 8, cut, float("nan"))
    want[2:] = float("nan")
    yield Case("make_tensor_descriptor", "padding_option=nan", body, (whole_,), want, EXACT)
    stored = torch.zeros(10, 24)
    stored[8:, 16:] = whole_.flatten()[:64].view(4, 16)[:2, :8]
    for name, call in (
        ("store_tensor_descriptor", "tl.store_tensor_descriptor(d, [8, 16], v)"),
        ("make_tensor_descriptor", "d.store([8, 16], v)"),
    ):
        body = MADE.format("out") + f"v = tl.load(x + {flat})\n{call}"
        yield Case(name, "store cut", body, (whole_,), stored, EXACT)
    for name in ("add", "max", "min"):
        body = MADE.format("out") + f"v = tl.load(x + {flat})\nd.atomic_{name}([8, 16], v)"
        ins, want = whole_, stored
        if name != "add":
            ins, zero = (whole_ * 9).to(I32), torch.zeros((), dtype=I32)
            want = getattr(torch, f"{name}imum")((stored * 9).to(I32), zero)
        yield Case("make_tensor_descriptor", f"atomic_{name}", body, (ins,), want, EXACT)
    rows = torch.tensor([3, 1, 9, 0, 2, 2, 7, 5], dtype=I32)
    body = """
    d = tl.make_tensor_descriptor(x, [10, 24], [24, 1], [1, 16])
    r, c = tl.arange(0, 8), tl.arange(0, 16)
    """
    where = "out + r[:, None] * 16 + c[None, :]"
    take = f"tl.store({where}, d.gather(tl.load(y + r), 4))"
    want = whole_[rows.long(), 4:20].contiguous()
    text = "\n".join(line.strip() for line in [*body.strip().splitlines(), take])
    yield Case("make_tensor_descriptor", "gather", text, (whole_, rows), want, EXACT)
    body = """
    d = tl.make_tensor_descriptor(out, [10, 24], [24, 1], [1, 16])
    r, c = tl.arange(0, 8), tl.arange(0, 16)
    d.scatter(tl.load(x + r[:, None] * 16 + c[None, :]), tl.load(y + r), 4)
    """
    apart, values = torch.tensor([3, 1, 9, 0, 2, 4, 7, 5], dtype=I32), normal(8, 16)
    want = torch.zeros(10, 24)
    want[apart.long(), 4:20] = values
    yield Case("make_tensor_descriptor", "scatter", body, (values, apart), want, EXACT)
    body = """
    p = tl.make_block_ptr(x, (10, 24), (24, 1), (8, 16), (4, 16), (1, 0))
    tl.store(out + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :],
             tl.load(p, boundary_check=(0, 1), padding_option="zero"))
    """
    yield Case("make_block_ptr", "load", body, (whole_,), cut, EXACT)


def cases() -> Iterator[Case]:
    yield from plain()
    yield from atomics()
    yield from compared()
    yield from descriptors()
