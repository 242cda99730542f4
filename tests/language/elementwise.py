"""Names that act on each lane by itself: arithmetic, functions, choices, casts."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from language.case import EXACT, Case, N, by_lane, normal, whole

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I8, I16, I32, I64 = torch.int8, torch.int16, torch.int32, torch.int64
U8, U16, U32, U64 = torch.uint8, torch.uint16, torch.uint32, torch.uint64
FLOATS = (F32, F64, F16, BF16)
INTEGERS = (I8, I16, I32, I64)
NAN = float("nan")
PAIR = torch.tensor([NAN, 1.0, 2.0, NAN] * 4), torch.tensor([3.0, NAN, 1.0, NAN] * 4)

FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {  # and whether it needs x > 0
    "ceil": (torch.ceil, False),
    "cos": (torch.cos, False),
    "erf": (torch.erf, False),
    "exp": (torch.exp, False),
    "exp2": (torch.exp2, False),
    "floor": (torch.floor, False),
    "log": (torch.log, True),
    "log2": (torch.log2, True),
    "rsqrt": (torch.rsqrt, True),
    "sin": (torch.sin, False),
    "sqrt": (torch.sqrt, True),
}


def functions() -> Iterator[Case]:
    for name, (want, positive) in FUNCTIONS.items():
        for kind in (F32, F64):
            x = normal(N, dtype=kind) * 3
            x = x.abs() + 0.1 if positive else x
            yield by_lane(name, f"tl.{name}(a)", [x], want(x))
    x = normal(N).abs() + 0.1
    yield by_lane("sqrt_rn", "tl.sqrt_rn(a)", [x], x.double().sqrt().float(), near=EXACT)
    for kind in (F32, F64):
        x = normal(N, dtype=kind)
        yield by_lane("sigmoid", "tl.sigmoid(a)", [x], torch.sigmoid(x))
    for kind in (*FLOATS, *INTEGERS):
        x = normal(N, dtype=kind) if kind.is_floating_point else whole(N, dtype=kind)
        yield by_lane("abs", "tl.abs(a)", [x], x.abs())
    for name in ("exp", "sqrt"):
        x = normal(N).abs()
        yield by_lane("math", f"tl.math.{name}(a)", [x], getattr(torch, name)(x), f"math.{name}")
    x = torch.arange(N, dtype=I32) - 8
    yield by_lane("cdiv", "tl.cdiv(a + 9, 4)", [x], (x + 12) // 4)


def arithmetic() -> Iterator[Case]:
    operators = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}
    for name, want in operators.items():
        for kind in (*FLOATS, I8, I32, I64):
            ins = [_some(kind, 1), _some(kind, 2)]
            yield by_lane(name, f"tl.{name}(a, b)", ins, want(*ins))
    for kind in FLOATS:
        a, b = normal(N, dtype=kind), normal(N, seed=2, dtype=kind)
        c = normal(N, seed=3, dtype=kind)
        fused = (a.double() * b.double() + c.double()).to(kind)
        yield by_lane("fma", "tl.fma(a, b, c)", [a, b, c], fused)
    a, b = normal(N), normal(N, seed=2).abs() + 0.5
    yield by_lane("div_rn", "tl.div_rn(a, b)", [a, b], a / b, near=EXACT)
    yield by_lane("fdiv", "tl.fdiv(a, b)", [a, b], a / b)
    yield by_lane("fdiv", "tl.fdiv(a, b, ieee_rounding=True)", [a, b], a / b, "ieee_rounding")
    yield by_lane("fdiv", "tl.fdiv(a, b, approx=True)", [a, b], a / b, "approx", near=1e-5)
    big = torch.tensor([2**31 - 1, -(2**31), 12345678, -7] * 4, dtype=I32)
    yield by_lane("umulhi", "tl.umulhi(a, b)", [big, big.flip(0)], _high(big, big.flip(0)))
    wide = torch.tensor([2**63 - 1, 2**40 + 3, 12345678, 7] * 4, dtype=I64)
    pairs = zip(wide.tolist(), wide.flip(0).tolist(), strict=True)
    high = torch.tensor([(a * b) >> 64 for a, b in pairs], dtype=I64)
    yield by_lane("umulhi", "tl.umulhi(a, b)", [wide, wide.flip(0)], high)


def _high(a: Tensor, b: Tensor) -> Tensor:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    found = [((p % 2**32) * (q % 2**32)) >> 32 for p, q in pairs]
    return torch.tensor(found, dtype=I64).to(I32)


def _some(kind: torch.dtype, seed: int) -> Tensor:
    if kind.is_floating_point:
        return normal(N, seed=seed, dtype=kind)
    return whole(N, low=-10, high=10, seed=seed, dtype=kind)


def choices() -> Iterator[Case]:
    for name in ("maximum", "minimum"):
        want = getattr(torch, name)
        for kind in (*FLOATS, I32, U8):
            signed = kind != U8
            ins = [_some(kind, n) if signed else _some(I32, n).abs().to(U8) for n in (1, 2)]
            yield by_lane(name, f"tl.{name}(a, b)", ins, want(*ins))
        number = torch.fmax if name == "maximum" else torch.fmin
        for way, says in (("NONE", number), ("ALL", want)):
            call = f"tl.{name}(a, b, propagate_nan=tl.PropagateNan.{way})"
            yield by_lane(name, call, PAIR, says(*PAIR), f"NaN {way}")
            if name == "maximum":
                yield by_lane("PropagateNan", call, PAIR, says(*PAIR), way)
    for kind in FLOATS:
        ins = [normal(N, dtype=kind) * 3, *(torch.full((N,), v, dtype=kind) for v in (-1.0, 1.0))]
        yield by_lane("clamp", "tl.clamp(a, b, c)", ins, ins[0].clamp(-1, 1))
    x = torch.tensor([NAN, 2.0, -2.0, 0.5] * 4)
    ends = [torch.full((N,), -1.0), torch.full((N,), 1.0)]
    call = "tl.clamp(a, b, c, propagate_nan=tl.PropagateNan.ALL)"
    yield by_lane("clamp", call, [x, *ends], x.clamp(-1, 1), "NaN ALL")
    a, b = normal(N), normal(N, seed=2)
    yield by_lane("where", "tl.where(a > b, a, 7.0)", [a, b], torch.where(a > b, a, 7.0))
    x = whole(N, low=0, high=2, dtype=I32)
    yield by_lane("int1", "(a != 0).to(tl.int1).to(tl.int32)", [x], x, "cast")


TYPES = {
    "int8": I8, "int16": I16, "int32": I32, "int64": I64, "uint8": U8, "uint16": U16,
    "uint32": U32, "uint64": U64, "float16": F16, "bfloat16": BF16, "float32": F32,
    "float64": F64, "float8e5": torch.float8_e5m2, "float8e4nv": torch.float8_e4m3fn,
    "float8e4b8": torch.float8_e4m3fnuz, "float8e5b16": torch.float8_e5m2fnuz,
}  # fmt: skip
TIES = torch.tensor([1.0625, 1.1875, -1.0625, 0.3, 1.7, 100.0, -3.3, 0.02] * 2)


def casts() -> Iterator[Case]:
    """A number goes to each type and comes back, rounded to nearest even as on a GPU."""
    for name, kind in TYPES.items():
        floating = kind.is_floating_point
        x = TIES if floating else whole(N, low=0 if name[0] == "u" else -50, dtype=F32)
        want = x.to(kind).to(F32)
        yield by_lane(name, f"a.to(tl.{name}).to(tl.float32)", [x], want, "cast", near=EXACT)
        if floating or name in ("int8", "int32", "int64", "uint8"):
            stored = x.to(kind)
            yield by_lane(name, "a", [stored], stored, "load and store", near=EXACT)
    x = TIES.clamp(-1.5, 1.5)
    yield by_lane("float8e4b15", "a.to(tl.float8e4b15).to(tl.float32)", [x], x, "cast", 0.1)
    for name in ("float8e4nv", "float8e5"):
        most = torch.finfo(TYPES[name]).max
        x = torch.tensor([1e6, -1e6, most, 3.0] * 4)
        call = f"a.to(tl.{name}).to(tl.float32)"
        yield by_lane(name, call, [x], x.clamp(-most, most), "beyond the largest", near=EXACT)
    x = normal(N) * 100
    yield by_lane("cast", "tl.cast(a, tl.int32)", [x], x.to(I32), "float32 to int32")
    yield by_lane("cast", "tl.cast(a, tl.int32, bitcast=True)", [x], x.view(I32), "bitcast")
    for kind, name in ((F16, "float16"), (BF16, "bfloat16")):
        call = f"tl.cast(a, tl.{name})"
        yield by_lane("cast", call, [x], x.to(kind), f"float32 to {name}", near=EXACT)
    call = 'tl.cast(a, tl.bfloat16, fp_downcast_rounding="rtz")'
    cut = (x.view(I32) & -65536).view(F32).to(BF16)
    yield by_lane("cast", call, [x], cut, "fp_downcast_rounding=rtz", near=EXACT)
    yield by_lane("to_tensor", "tl.to_tensor(3.0) + a", [x], x + 3)


def cases() -> Iterator[Case]:
    yield from functions()
    yield from arithmetic()
    yield from choices()
    yield from casts()
