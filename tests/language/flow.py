"""Names that steer a kernel, hint at what it knows, draw random numbers, or are types."""

from collections.abc import Iterator

import torch
from torch import Tensor

from language.case import EXACT, Case, N, by_lane, normal, whole
from language.elementwise import F32, I32, I64, U32

X = normal(N)
TOTAL = """
total = 0
for turn in {loop}:
    total += turn
tl.store(out, total)
"""


def loops() -> Iterator[Case]:
    options = ("num_stages=3", "loop_unroll_factor=2", "disallow_acc_multi_buffer=True")
    options += ("flatten=True", "warp_specialize=True", "disable_licm=True")
    want = torch.tensor([0 + 3 + 6 + 9], dtype=I32)
    for option in ("", *(f", {option}" for option in options)):
        body = TOTAL.format(loop=f"tl.range(0, 10, 3{option})")
        yield Case("range", option[2:] or "three bounds", body, (X,), want)
    body = TOTAL.format(loop="tl.range(tl.load(x))")
    yield Case("range", "a bound that was loaded", body, (want[:1] * 0 + 4,), want * 0 + 6)
    for bounds, says in (("0, 10, 3", want), ("4", want * 0 + 6)):
        tried = "three bounds" if "," in bounds else "one bound"
        text = TOTAL.format(loop=f"tl.static_range({bounds})")
        yield Case("static_range", tried, text, (X,), says)
    body = "n = 0\nwhile tl.condition(n < 5{}):\n    n += 2\ntl.store(out, n)"
    for option in ("", ", disable_licm=True"):
        yield Case("condition", option[2:] or "while", body.format(option), (X,), want * 0 + 6)


def programs() -> Iterator[Case]:
    body = (
        "p = tl.program_id(0) * 6 + tl.program_id(1) * 3 + tl.program_id(2)\ntl.store(out + p, p)"
    )
    yield Case("program_id", "three axes", body, (X,), torch.arange(12, dtype=I32), grid=(2, 2, 3))
    body = "tl.store(out, tl.num_programs(0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2))"
    yield Case("num_programs", "", body, (X,), torch.tensor([223], dtype=I32), grid=(2, 2, 3))
    body = """
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), 4, 3, 2)
    tl.store(out + tl.program_id(0) * 3 + tl.program_id(1), i * 3 + j)
    """
    order = [first * 6 + row * 3 + column for first in (0, 1) for column in (0, 1, 2)
             for row in (0, 1)]  # fmt: skip
    want = torch.tensor(order, dtype=I32)
    yield Case("swizzle2d", "", body, (X,), want, grid=(4, 3))


def hints() -> Iterator[Case]:
    for name in ("multiple_of", "max_contiguous", "max_constancy"):
        yield by_lane(name, f"tl.load(x + tl.{name}(i, 1))", [X], X, "changes nothing")
    for name, line, says in (
        ("assume", "tl.assume(tl.program_id(0) >= 0)", ""),
        ("debug_barrier", "tl.debug_barrier()", ""),
        ("device_assert", 'tl.device_assert(tl.program_id(0) == 0, "no")', ""),
        ("static_assert", 'tl.static_assert(2 > 1, "no")', ""),
        ("static_print", 'tl.static_print("hello", 3)', "hello 3"),
        ("device_print", 'tl.device_print("hello", tl.program_id(0) + 3)', "hello"),
    ):
        body = f"{line}\ni = tl.arange(0, 16)\ntl.store(out + i, tl.load(x + i))"
        yield Case(name, "says it" if says else "passes", body, (X,), X, prints=says)
    yield by_lane("expect_zero", "tl.expect_zero(a, i < 0)", [X], X, "changes nothing")


MORE = """
@triton.jit
def _absolute(a):
    if a < 0:
        return -a
    else:
        return a


@triton.jit
def _both(pair):
    return pair[0] * 2 + pair[1]


@triton.jit
def _two(a, b):
    if a < b:
        return a, b
    else:
        return b, a
"""


def functions() -> Iterator[Case]:
    call = "tl.map_elementwise(_absolute, a)"
    yield by_lane("map_elementwise", call, [X], X.abs(), "own function", before=MORE)
    other = normal(N, seed=2)
    call = "tl.map_elementwise(_two, a, b)[1]"
    want = torch.maximum(X, other)
    yield by_lane("map_elementwise", call, [X, other], want, "a tuple", before=MORE)
    asm = 'tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [a], tl.float32, True, 1)'
    yield by_lane("inline_asm_elementwise", asm, [X], X * 2, "add.f32")
    call = "_both((a, b))"
    yield by_lane("tuple", call, [X, other], X * 2 + other, "passed on", before=MORE)
    call = "_both(tl.tuple([a, b]))"
    yield by_lane("tuple", call, [X, other], X * 2 + other, "made", before=MORE)
    for call in ("tl.target_info.is_cuda()", "tl.target_info.cuda_capability_geq(9, 0)"):
        text = f"a if {call} else a"
        yield by_lane("target_info", text, [X], X, call[15:])
    aggregate = """
@triton.language.core._aggregate
class _Pair:
    one: tl.tensor
    two: tl.tensor

    @triton.constexpr_function
    def __init__(self, one, two):
        self.one = one
        self.two = two
"""
    body = """
    i = tl.arange(0, 16)
    pair = tl.aggregate_replace(_Pair(tl.load(x + i), tl.load(y + i)), one=tl.load(y + i))
    tl.store(out + i, pair.one - pair.two)
    """
    zero = torch.zeros(N)
    yield Case("aggregate_replace", "", body, (X, other), zero, before=aggregate)


def philox(seed: int, counters: Tensor, rounds: int = 10) -> list[Tensor]:
    """Return the four words of Philox 4x32, as Salmon et al. describe it."""
    mask = 0xFFFFFFFF
    found: list[list[int]] = []
    for counter in counters.tolist():
        words, keys = [counter & mask, 0, 0, 0], [seed & mask, seed >> 32 & mask]
        for _ in range(rounds):
            one, two = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
            words = [two >> 32 ^ words[1] ^ keys[0], two & mask, one >> 32 ^ words[3] ^ keys[1],
                     one & mask]  # fmt: skip
            keys = [(keys[0] + 0x9E3779B9) & mask, (keys[1] + 0xBB67AE85) & mask]
        found.append(words)
    return [*torch.tensor(found, dtype=I64).unbind(1)]


def _uniform(words: Tensor) -> Tensor:
    signed = words.to(U32).view(I32).to(I64)
    return (torch.where(signed < 0, -signed - 1, signed).double() * 4.6566127342e-10).float()


def _gauss(one: Tensor, two: Tensor) -> list[Tensor]:
    radius = torch.sqrt(-2 * torch.log(one.clamp(min=1e-7).double()))
    angle = 6.283185307179586 * two.double()
    return [(radius * torch.cos(angle)).float(), (radius * torch.sin(angle)).float()]


def drawn() -> Iterator[Case]:
    words = philox(42, torch.arange(N))
    uniform = [_uniform(word) for word in words]
    gauss = [*_gauss(*uniform[:2]), *_gauss(*uniform[2:])]
    signed = [word.to(U32).view(I32) for word in words]
    yield by_lane("randint", "tl.randint(42, i).to(tl.int32, bitcast=True)", [], signed[0])
    call = "tl.randint(42, i, 7).to(tl.int32, bitcast=True)"
    fewer = philox(42, torch.arange(N), 7)[0].to(U32).view(I32)
    yield by_lane("randint", call, [], fewer, "n_rounds=7")
    yield by_lane("rand", "tl.rand(42, i)", [], uniform[0], near=1e-6)
    yield by_lane("randn", "tl.randn(42, i)", [], gauss[0], near=1e-4)
    for n in (0, 3):
        call = f"tl.randint4x(42, i)[{n}].to(tl.int32, bitcast=True)"
        yield by_lane("randint4x", call, [], signed[n], f"word {n}")
        yield by_lane("rand4x", f"tl.rand4x(42, i)[{n}]", [], uniform[n], f"word {n}", 1e-6)
        yield by_lane("randn4x", f"tl.randn4x(42, i)[{n}]", [], gauss[n], f"word {n}", 1e-4)
        call = f"tl.philox(42, i, i * 0, i * 0, i * 0)[{n}].to(tl.int32, bitcast=True)"
        yield by_lane("philox", call, [], signed[n], f"word {n}")
        zero = "tl.zeros((16,), tl.uint32)"
        call = f"tl.philox_impl(i.to(tl.uint32), {zero}, {zero}, {zero}, {zero} + 42, {zero})[{n}]"
        call += ".to(tl.int32, bitcast=True)"
        yield by_lane("philox_impl", call, [], signed[n], f"word {n}")
    x = signed[0]
    yield by_lane("uint_to_uniform_float", "tl.uint_to_uniform_float(a)", [x], uniform[0])
    call = "tl.pair_uniform_to_normal(a, b)[0]"
    yield by_lane("pair_uniform_to_normal", call, uniform[:2], gauss[0], near=1e-4)


def typed() -> Iterator[Case]:
    """Types and what is written with them in a kernel."""
    body = "COUNT: tl.constexpr = 16\ni = tl.arange(0, COUNT)\ntl.store(out + i, tl.load(x + i))"
    yield Case("constexpr", "a local name", body, (X,), X, EXACT)
    call = "tl.load((x.to(tl.int64, bitcast=True) + i * 4).to(tl.pointer_type(tl.float32)))"
    yield by_lane("pointer_type", call, [X], X, "an address as a pointer")
    body = "i = tl.arange(0, 16)\nif out.dtype.element_ty == tl.float32:\n"
    body += "    tl.store(out + i, tl.load(x + i))"
    yield Case("dtype", "of a pointer", body, (X,), X, EXACT)
    whole_ = whole(N, dtype=I32)
    call = "tl.where(a.dtype.is_int(), a, 0)"
    yield by_lane("tensor", call, [whole_], whole_, "its dtype")
    call = "tl.zeros(a.shape, tl.float32) + tl.TRITON_MAX_TENSOR_NUMEL"
    want = torch.full((N,), 1048576.0, dtype=F32)
    yield by_lane("TRITON_MAX_TENSOR_NUMEL", call, [X], want, "its value")


def cases() -> Iterator[Case]:
    yield from loops()
    yield from programs()
    yield from hints()
    yield from functions()
    yield from drawn()
    yield from typed()
