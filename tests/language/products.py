"""Products of blocks: ``tl.dot`` of every dtype, and ``tl.dot_scaled``."""

from collections.abc import Iterator

import torch
from torch import Tensor

from language.case import Case, normal, whole
from language.elementwise import BF16, F16, F32, F64, I8, I32

SIDE = 16
FP8 = {
    "float8e5": torch.float8_e5m2,
    "float8e4nv": torch.float8_e4m3fn,
    "float8e4b8": torch.float8_e4m3fnuz,
    "float8e5b16": torch.float8_e5m2fnuz,
}
BODY = """
r, c = tl.arange(0, {m})[:, None], tl.arange(0, {n})[None, :]
k = tl.arange(0, {k})
a = tl.load(x + r * {k} + k[None, :])
b = tl.load(y + k[:, None] * {n} + c)
tl.store(out + r * {n} + c, {call})
"""


def _dot(a: Tensor, b: Tensor, tried: str, call: str = "tl.dot(a, b)", **more: object) -> Case:
    (m, k), n = a.shape, b.shape[1]
    kind = more.pop("kind", F32)
    want = more.pop("want", None)
    if want is None:
        want = a.double() @ b.double()
    body = BODY.format(m=m, n=n, k=k, call=call)
    near = more.pop("near", 2e-5)
    return Case("dot", tried, body, (a, b), want.to(kind), near, **more)  # type: ignore[arg-type]


def dots() -> Iterator[Case]:
    a, b = normal(SIDE, 32), normal(32, SIDE, seed=2)
    for kind in (F32, F16, BF16):
        call = 'tl.dot(a, b, input_precision="ieee")'
        yield _dot(a.to(kind), b.to(kind), str(kind)[6:], call)
    yield _dot(a.double(), b.double(), "float64", kind=F64, near=1e-12)
    for kind in (I8, torch.uint8):
        low = -99 if kind is I8 else 0
        left, right = (whole(*s, low=low, high=99, dtype=kind) for s in ((SIDE, 32), (32, SIDE)))
        yield _dot(left, right, str(kind)[6:], kind=I32, want=left.long() @ right.long())
    for name, kind in FP8.items():
        yield _dot(a.to(kind), b.to(kind), name)
    for precision in ("tf32", "tf32x3", "bf16x3", "bf16x6"):
        call = f'tl.dot(a, b, input_precision="{precision}")'
        near = 2e-2 if precision == "tf32" else 1e-3
        yield _dot(a, b, f"input_precision={precision}", call, near=near)
    yield _dot(a, b, "allow_tf32=False", "tl.dot(a, b, allow_tf32=False)")
    call = "tl.dot(a, b, tl.zeros((16, 16), tl.float32) + 2)"
    yield _dot(a, b, "acc", call, want=a.double() @ b.double() + 2)
    call = "tl.dot(a, b, out_dtype=tl.float16)"
    yield _dot(a.half(), b.half(), "out_dtype=float16", call, kind=F16, near=5e-3)
    call = "tl.dot(a, b, max_num_imprecise_acc=32)"
    left, right = (value.to(FP8["float8e5"]) for value in (a, b))
    yield _dot(left, right, "max_num_imprecise_acc", call)
    three = normal(2, SIDE, 16), normal(2, 16, SIDE, seed=2)
    body = """
    h, r, c = tl.arange(0, 2)[:, None, None], tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    at = h * 256 + r[None] * 16 + c[None]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at), input_precision="ieee"))
    """
    yield Case("dot", "three axes", body, three, (three[0] @ three[1]), 2e-5)


SCALED = """
r, c = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
k, byte = tl.arange(0, 64), tl.arange(0, {packed})
a = tl.load(x + r * {packed} + byte[None, :])
b = tl.load(y + k[:, None] * 16 + c)
scale = tl.load(z + r * 2 + tl.arange(0, 2)[None, :])
tl.store(out + r * 16 + c, tl.dot_scaled(a, scale, "{form}", b, None, "bf16"))
"""
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def scaled() -> Iterator[Case]:
    """The left side has a format of microscaling, and a power of two for each 32 numbers."""
    powers = whole(16, 2, low=125, high=130, dtype=torch.uint8)
    factors = torch.exp2(powers.double() - 127).repeat_interleave(32, 1)
    b = normal(64, 16, seed=2, dtype=BF16)
    a = normal(16, 64)
    forms = {"e5m2": FP8["float8e5"], "e4m3": FP8["float8e4nv"], "bf16": BF16, "fp16": F16}
    for form, kind in forms.items():
        left = a.to(kind)
        if form == "fp16":
            continue  # both sides must be of one width: tried below
        stored = left.view(torch.uint8) if kind.itemsize == 1 else left
        want = ((left.double() * factors) @ b.double()).float()
        body = SCALED.format(packed=64, form=form)
        yield Case("dot_scaled", form, body, (stored, b, powers), want, 2e-2)
    codes = whole(16, 64, low=0, high=16, dtype=I32)
    values = E2M1[(codes & 7).long()].double() * torch.where(codes > 7, -1, 1)
    packed = (codes[:, ::2] | (codes[:, 1::2] << 4)).to(torch.uint8)
    want = ((values * factors) @ b.double()).float()
    body = SCALED.format(packed=32, form="e2m1")
    yield Case("dot_scaled", "e2m1", body, (packed, b, powers), want, 2e-2)


def cases() -> Iterator[Case]:
    yield from dots()
    yield from scaled()
