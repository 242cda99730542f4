"""Public tests of lab 09: the examples of the handout and a few more, by the handout's numbers.

Most weights are chosen so that codes hold them exactly: what comes out is then known by hand.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from grader.suite import (
    NotGraded,
    Proxy,
    assert_close,
    assert_equal,
    assert_from_kernels,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)

Two = tuple[Tensor, Tensor]
Three = tuple[Tensor, Tensor, Tensor]
LOW = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
LAYOUTS = pytest.mark.parametrize("layout", ["every other column", "transposed"])


def rows(*lists: list[float]) -> Tensor:
    return torch.tensor(lists, dtype=torch.float32)


def of_bytes(*lists: list[int]) -> Tensor:
    return torch.tensor(lists, dtype=torch.uint8)


def among_others(x: Tensor, layout: str, other: float) -> Tensor:  # [M, N] -> an equal view
    """Put x into a larger tensor full of other numbers, and return the view that holds it."""
    M, N = x.shape
    if layout == "transposed":
        return torch.full((N + 3, M + 2), other, dtype=x.dtype)[2:-1, 1:-1].T.copy_(x)
    return torch.full((M + 1, 2 * N + 4), other, dtype=x.dtype)[1:, 3:-1:2].copy_(x)


def shaped(value: object, *shape: int, what: str, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a tensor that has been made sure to have this shape and this dtype."""
    found = expect(value, Tensor, what)
    right = found.shape == shape and found.dtype == dtype
    kind = str(dtype).removeprefix("torch.")
    check(right, f"{what} is {describe(found)}, expected {kind} of shape {list(shape)}")
    return found


def assert_unchanged(**watched: Any) -> None:
    for name, value in watched.items():
        assert_unmodified(value, name)


# --- Task 1: int8 ----------------------------------------------------------------------------


@task("int8", contract=1)
def test_example_of_int8(student):
    """The row of the handout, and one of a thousandth of its size: each has a scale of its own."""
    w = rows([254.0, -3.0, 5.0, 0.5], [0.1, -0.0021, 0.127, -0.0498])

    q, scale = expect(student.quantize_int8(w), Two)

    assert_close(scale, torch.tensor([2.0, 0.001]), "elementwise", what="scale")
    want = torch.tensor([[127, -2, 2, 0], [100, -2, 127, -50]], dtype=torch.int8)
    assert_equal(q, want, "the codes")
    back = rows([254.0, -4.0, 4.0, 0.0], [0.1, -0.002, 0.127, -0.05])
    assert_close(student.dequantize_int8(q, scale), back, "elementwise", what="what comes back")


@task("int8", contract=1)
def test_half_a_scale_is_the_most_of_int8(student, draw):
    """What comes back is half a scale off at most: 1/254 of the largest magnitude of the row."""
    w = draw.normal(5, 200) * torch.tensor([1e-3, 1.0, 40.0, 5e3, 0.2])[:, None]
    w[1, 17] = 1e3  # costs its own row alone

    parts = expect(student.quantize_int8(w), Two)
    back = shaped(student.dequantize_int8(*parts), 5, 200, what="what comes back")

    largest = w.abs().amax(1, keepdim=True)
    off = ((back - w).abs() / largest * 127).amax(1)
    check(bool((off < 0.501).all()), f"rows are {off.tolist()} scales off, expected up to 0.5")


@task("int8", contract=2)
def test_halfway_between_two_int8_codes(student):
    """With scales of 1 and 1/4 halves are exact, and go to the even code."""
    w = rows([127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -126.5, 126.5])

    q, _ = expect(student.quantize_int8(torch.cat((w, w / 4))), Two)

    want = torch.tensor([[127, 0, 2, 2, 0, -2, -126, 126]], dtype=torch.int8)
    assert_equal(q, want.expand(2, 8), "the codes")


@task("int8", contract=3)
@pytest.mark.parametrize("size", [1.0, 1e-24, 1e-9, 1e30])
def test_rows_of_any_size(student, size):
    """127, -3 and 64 times anything have those codes; zeros have scale 1; 5 alone has code 127."""
    w = rows([127.0, -3.0, 64.0], [0.0, 0.0, 0.0], [5.0, 5.0, -5.0]) * size

    q, scale = expect(student.quantize_int8(w), Two)

    assert_equal(
        q, torch.tensor([[127, -3, 64], [0, 0, 0], [127, 127, -127]], dtype=torch.int8), "the codes"
    )
    want = torch.tensor([1.0, 1.0, 5 / 127]) * torch.tensor([size, 1.0, size])
    ratio = shaped(scale, 3, what="scale") / want
    assert_close(ratio, torch.ones(3), "elementwise", what="scale over what it should be")


@task("int8", contract=4)
@LOW
def test_int8_of_a_low_precision_weight(student, draw, dtype):
    """The same numbers in float32 have the same codes and scales, bit by bit."""
    w = draw.normal(6, 300).to(dtype)

    q, scale = expect(student.quantize_int8(w), Two)

    want_q, want_scale = expect(student.quantize_int8(w.float()), Two)
    assert_equal(scale, want_scale, "scale")
    assert_equal(q, want_q, "the codes")


@task("int8", contract=5)
def test_each_int8_code_times_its_scale(student):
    """From -128, which quantize_int8 never gives, to 127; 1/2 and 3 times them are exact."""
    codes = torch.arange(-128, 128)
    q = torch.stack((codes, codes.flip(0))).to(torch.int8)

    got = student.dequantize_int8(q, torch.tensor([0.5, 3.0]))

    assert_equal(got, torch.stack((codes / 2, codes.flip(0) * 3.0)), "what comes back")


@task("int8", contract=5)
@pytest.mark.parametrize("num_rows", [1, 3])
def test_what_int8_holds_exactly(student, num_rows):
    """Codes times a power of two come back bit by bit, be it one row or three."""
    w = rows([127.0, -3.0, 64.0, 0.0], [-31.75, 8.0, 0.25, -2.0], [0.0, 254.0, 2.0, -8.0])[
        :num_rows
    ]

    q, scale = expect(student.quantize_int8(w), Two)

    assert_equal(scale, torch.tensor([1.0, 0.25, 2.0])[:num_rows], "scale")
    assert_equal(student.dequantize_int8(q, scale), w, "what comes back")


@task("int8", contract=6)
@LAYOUTS
def test_int8_of_a_view(student, draw, layout):
    """A view has the codes of its copy, whatever lies beside it, and stays as it is."""
    w = draw.normal(4, 6)
    watched = student.watch(among_others(w, layout, math.nan))

    q, scale = expect(student.quantize_int8(watched), Two)

    want_q, want_scale = expect(student.quantize_int8(w), Two)
    assert_equal(q, want_q, "the codes")
    assert_equal(scale, want_scale, "scale")
    assert_unchanged(w=watched)


@task("int8", contract=6)
@LAYOUTS
def test_int8_codes_and_scales_in_views(student, layout):
    """Codes and scales may be views as well; nothing beside them is seen or changed."""
    q = torch.tensor([[1, -2, 127], [0, 5, -8]], dtype=torch.int8)
    scale = rows([0.5], [2.0])
    parts = student.watch(among_others(q, layout, 99)), among_others(scale, layout, math.nan)
    scales = student.watch(parts[1][:, 0])

    got = student.dequantize_int8(parts[0], scales)

    assert_equal(got, rows([0.5, -1.0, 63.5], [0.0, 10.0, -16.0]), "what comes back")
    assert_unchanged(q=parts[0], scale=scales)


@task("int8", contract=7)
def test_int8_is_your_own(student):
    """torch's own quantization would have been one line."""
    with student.guard():
        q, scale = expect(student.quantize_int8(rows([254.0, -3.0, 5.0, 0.5])), Two)
        expect(student.dequantize_int8(q, scale), Tensor)


# --- Task 2: int4 ----------------------------------------------------------------------------

# The row of the handout, two groups of four: steps of 0.5 from -2 on, and of 1 from 0 on.
W = rows([-2.0, 0.0, 1.5, 5.5, 15.0, 1.0, 2.0, 0.0])
PACKED = of_bytes([0x40, 0xF7, 0x1F, 0x02])
SCALE, ZERO = rows([0.5, 1.0]), of_bytes([4, 0])


def assert_int4(got: object, packed: Tensor, scale: Tensor, zero: Tensor) -> None:
    """Compare what quantize_int4 returns; what has been packed is shown in hexadecimal digits."""
    found = expect(got, Three)
    ratio = shaped(found[1], *scale.shape, what="scale") / scale
    assert_close(ratio, torch.ones_like(scale), "elementwise", what="scale over what it should be")
    assert_equal(found[2], zero, "zero")
    if found[0].dtype == torch.uint8 and found[0].shape == packed.shape:
        shown, due = found[0].flatten().tolist(), packed.flatten().tolist()
        say = f"packed is {bytes(shown).hex(' ')}, expected {bytes(due).hex(' ')}"
        check(shown == due, say)
    assert_equal(found[0], packed, "packed")


@task("int4", contract=8)
def test_example_of_int4(student):
    """The two groups of the handout: codes, scales, zeros, and the way back."""
    assert_int4(student.quantize_int4(W, 4), PACKED, SCALE, ZERO)
    assert_equal(student.dequantize_int4(PACKED, SCALE, ZERO, 4), W, "what comes back")


@task("int4", contract=8)
@pytest.mark.parametrize("group", [4, 25, 100])
def test_half_a_scale_is_the_most_of_int4(student, draw, group):
    """What comes back is half a scale off at most, and 0 comes back as 0."""
    w = draw.normal(5, 100) * torch.tensor([1e-3, 1.0, 40.0, 5e3, 0.2])[:, None]
    w += draw.normal(5, 1)
    w[:, ::9] = 0.0

    parts = expect(student.quantize_int4(w, group), Three)
    back = shaped(student.dequantize_int4(*parts, group), 5, 100, what="what comes back")

    scale = shaped(parts[1], 5, 100 // group, what="scale")
    error = (back - w).abs().unflatten(1, (-1, group)).amax(2)
    worst = float((error / scale).max())
    check(worst < 0.501, f"a weight is {worst:.3f} scales off, expected 0.5 at most")
    zeros = back[:, ::9].abs().max().item()
    check(zeros == 0, f"a weight of 0 comes back as {zeros}, expected 0.0")


@task("int4", contract=9)
def test_even_columns_are_low_halves(student):
    """0, 1, 2, ... 15 are their own codes: the first byte holds 0 in its low half, 1 above."""
    w = torch.arange(16.0)[None]
    packed = of_bytes([0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE])

    assert_int4(student.quantize_int4(w, 16), packed, rows([1.0]), of_bytes([0]))

    got = student.dequantize_int4(packed, rows([1.0]), of_bytes([0]), 16)
    assert_equal(got, w, "what comes back")


@task("int4", contract=10)
@pytest.mark.parametrize(
    ("width", "group"), [(2, 1), (2, 2), (10, 5), (18, 3), (30, 15), (66, 33), (90, 90), (256, 128)]
)
def test_groups_of_any_divisor(student, draw, width, group):
    """A group of whole numbers from 0 to 15, times a size of its own, comes back as it was."""
    sizes = 2.0 ** draw.integers(-5, 5, 3, width // group)
    steps = draw.integers(0, 16, 3, width // group, group)
    steps[..., -1] = 15
    w = (steps * sizes[..., None]).flatten(1)

    parts = expect(student.quantize_int4(w, group), Three)

    assert_equal(parts[1], sizes, "scale")
    assert_equal(student.dequantize_int4(*parts, group), w, "what comes back")


@task("int4", contract=11)
@pytest.mark.parametrize("size", [1.0, 0.25])
def test_halfway_between_two_int4_codes(student, size):
    """Zeros are 7.5 rounded, 8, and 7. A half goes to even, then zero is added: 7.5 is 16, cut."""
    w = rows(
        [-7.5, 7.5, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5],  # 0, 15, 8, 10, 10, 8, 6, 6
        [-7.0, 8.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5],  # 0, 15, 7, 9, 9, 7, 5, 5
    )

    packed = of_bytes([0xF0, 0xA8, 0x8A, 0x66], [0xF0, 0x97, 0x79, 0x55])
    got = student.quantize_int4(w * size, 8)
    assert_int4(got, packed, rows([size], [size]), of_bytes([8], [7]))


@task("int4", contract=12)
def test_weights_of_one_sign(student):
    """3 ... 7.5 is a range of 0 ... 7.5, with zero 0; below 0 it is -7.5 ... 0, with zero 15."""
    w = rows([6.0, 7.5, 3.0, 4.5])

    packed = of_bytes([0xFC, 0x96], [0x03, 0x69])
    zero = of_bytes([0], [15])
    assert_int4(student.quantize_int4(torch.cat((w, -w)), 4), packed, rows([0.5], [0.5]), zero)


@task("int4", contract=13)
@pytest.mark.parametrize("size", [1.0, 1e-24, 1e-9, 1e25])
def test_groups_of_any_size(student, size):
    """-4, 11, 2, 0 times anything has the same codes; zeros have scale 1; 7 alone has code 15."""
    w = rows([-4.0, 11.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 7.0, 7.0, 7.0]) * size

    packed = of_bytes([0xF0, 0x46, 0x00, 0x00, 0xFF, 0xFF])
    scale = torch.tensor([[size, 1.0, 7 / 15 * size]])
    assert_int4(student.quantize_int4(w, 4), packed, scale, of_bytes([4, 0, 0]))


@task("int4", contract=14)
@LOW
def test_int4_of_a_low_precision_weight(student, draw, dtype):
    """The same numbers in float32 have the same codes, scales and zeros, bit by bit."""
    w = (draw.normal(6, 320) * 3 + 1).to(dtype)

    found = expect(student.quantize_int4(w, 16), Three)

    want = expect(student.quantize_int4(w.float(), 16), Three)
    for got, due, what in zip(found, want, ("packed", "scale", "zero"), strict=True):
        assert_equal(got, due, what)


@task("int4", contract=15)
@pytest.mark.parametrize("zero", [0, 7, 15])
def test_each_byte_and_its_two_weights(student, zero):
    """256 rows of a byte each: 0xA3 with zero 7 is 3 - 7 and 10 - 7, times its scale."""
    sizes = [2.0 ** (byte % 7 - 3) for byte in range(256)]
    numbers = [divmod(byte, 16)[::-1] for byte in range(256)]

    got = student.dequantize_int4(
        of_bytes(*([byte] for byte in range(256))),
        rows(*([size] for size in sizes)),
        torch.full((256, 1), zero, dtype=torch.uint8),
        2,
    )

    pairs = zip(numbers, sizes, strict=True)
    want = rows(*([(number - zero) * size for number in pair] for pair, size in pairs))
    assert_equal(got, want, "what comes back")


@task("int4", contract=16)
@pytest.mark.parametrize(
    ("width", "group", "name"),
    [
        *((9, 3, "w"), (7, 1, "w"), (32, 12, "group"), (32, 64, "group")),
        *((6, 0, "group"), (6, -2, "group"), (7, 2, "")),
    ],
)
def test_widths_and_groups_that_are_refused(student, width, group, name):
    """An odd I names w, a wrong group names group; of both at once either may be named."""
    with student.raises(ValueError, naming=name):
        student.quantize_int4(torch.ones(2, width), group)


@task("int4", contract=17)
@LAYOUTS
def test_int4_of_a_view(student, layout):
    """Views have the codes and weights of their copies, and stay as they are."""
    w = student.watch(among_others(torch.cat((W, -W)), layout, math.nan))
    assert_int4(
        student.quantize_int4(w, 4),
        of_bytes([0x40, 0xF7, 0x1F, 0x02], [0xBF, 0x08, 0xE0, 0xFD]),
        rows([0.5, 1.0], [0.5, 1.0]),
        of_bytes([4, 0], [11, 15]),
    )
    assert_unchanged(w=w)

    both = [torch.cat((part, part)) for part in (PACKED, SCALE, ZERO)]
    parts = [student.watch(among_others(part, layout, 77)) for part in both]
    got = student.dequantize_int4(*parts, 4)
    assert_equal(got, torch.cat((W, W)), "what comes back")
    assert_unchanged(packed=parts[0], scale=parts[1], zero=parts[2])


@task("int4", contract=18)
def test_int4_is_your_own(student):
    """torch's own quantization is not called here either."""
    with student.guard():
        parts = expect(student.quantize_int4(W, 4), Three)
        expect(student.dequantize_int4(*parts, 4), Tensor)


# --- Task 3: linears -------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("name", ["Int8Linear", "Int4Linear"])
# Two rows that int8 holds exactly, with scale 1, and two that int4 does in groups of four.
HELD = {
    "Int8Linear": rows(
        [127.0, -3.0, 64.0, 0.0, 5.0, 1.0, -100.0, 8.0],
        [2.0, -127.0, 0.0, 9.0, -1.0, 31.0, 4.0, 77.0],
    ),
    "Int4Linear": torch.cat((W, rows([1.0, 2.0, -7.0, 8.0, 0.0, -7.5, -3.0, -1.5]))),
}
BIAS = torch.tensor([10.0, -3.0])
# And numbers that both hold exactly, whatever their size: in each group 0 and one other.
ON_OFF = rows([1.0, 0.0, 0.0, 1.0, 0.0, -1.0, -1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])


def float_linear(student, weight: Tensor, bias: Tensor | None = None) -> Proxy:
    """An nn.Linear on the submission's side, with the dtype of its weight."""
    linear = student.handle("nn", given="llama").Linear
    made = expect(linear(*weight.shape[::-1], bias is not None), Proxy, "nn.Linear")
    parts = {"weight": weight, "bias": bias}
    made.load_state_dict({key: x for key, x in parts.items() if x is not None}, assign=True)
    return made


def quantized(student, name: str, linear: Proxy, group: int = 4) -> Proxy:
    options = {"group": group} if name == "Int4Linear" else {}
    return expect(student.handle(name).from_float(linear, **options), Proxy, "the new layer")


def assert_does(layer: Proxy, x: Tensor, weight: Tensor, bias: Tensor | None, what: str) -> None:
    """Compare layer(x) with what nn.Linear does in float64."""
    wide = None if bias is None else bias.double()
    want = F.linear(x.double(), weight.double(), wide)
    size = x.double().abs() @ weight.double().abs().T
    # The bias may be added to what has been rounded already.
    twice = [] if bias is None else [(want - wide).to(x.dtype) + bias.to(x.dtype)]
    assert_close(layer(x), want, "matmul", like=x, trusted=twice, scale=size, what=what)


@task("linears", contract=19)
def test_example_of_linears(student):
    """A quantized layer multiplies with what is left of the weight: here all, and here not."""
    linear = float_linear(student, W, torch.tensor([10.0]))
    x = torch.arange(1.0, 9.0)[None]

    assert_close(quantized(student, "Int4Linear", linear)(x), rows([10 + 119.5]), "matmul")
    q = torch.tensor([-17.0, 0.0, 13.0, 47.0, 127.0, 8.0, 17.0, 0.0])
    want = 10 + (q * x).sum(-1, keepdim=True) * (15 / 127)
    assert_close(quantized(student, "Int8Linear", linear)(x), want, "matmul")


@task("linears", contract=19)
@BOTH
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
def test_layer_does_what_the_linear_did(student, draw, name, bias):
    """Where codes hold a weight exactly nn.Linear and the quantized layer do the same."""
    layer = quantized(student, name, float_linear(student, HELD[name], bias))

    assert_does(layer, draw.normal(5, 8), HELD[name], bias, "layer(x)")


@task("linears", contract=20)
@BOTH
@pytest.mark.parametrize("shape", [(8,), (2, 3, 8), (3, 1, 2, 8)], ids=str)
def test_axes_before_the_last(student, draw, name, shape):
    """x has leading axes or none, here every other column of something; it stays as it was."""
    layer = quantized(student, name, float_linear(student, HELD[name], BIAS))
    x = draw.normal(*shape[:-1], 16)[..., 1::2]
    watched = student.watch(x)

    got = layer(watched)

    want = F.linear(x.double(), HELD[name].double(), BIAS.double())
    size = x.double().abs() @ HELD[name].double().abs().T
    assert_close(got, want, "matmul", scale=size, what="layer(x)")
    assert_unchanged(x=watched)


@task("linears", contract=21)
@BOTH
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
@pytest.mark.parametrize(
    ("kept", "dtype"),
    [
        (torch.float32, torch.bfloat16),
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float16),
        (torch.bfloat16, torch.bfloat16),
    ],
    ids=str,
)
def test_x_decides_the_dtype(student, draw, name, bias, kept, dtype):
    """The layer was float32 and x is bfloat16, or the other way round: the result is as x is."""
    weight, bias = HELD[name].to(kept), None if bias is None else bias.to(kept)
    layer = quantized(student, name, float_linear(student, weight, bias))

    assert_does(layer, draw.normal(3, 8, dtype=dtype), weight, bias, "layer(x)")


@task("linears", contract=22)
@BOTH
def test_x_that_float16_cannot_hold(student, draw, name):
    """bfloat16 goes far beyond float16's 65504: x of a million, weights of a millionth."""
    weight = (HELD[name] * 2.0**-20).bfloat16()
    layer = quantized(student, name, float_linear(student, weight, BIAS.bfloat16()))

    assert_does(layer, draw.normal(4, 8, dtype=torch.bfloat16) * 2**20, weight, BIAS, "layer(x)")


@task("linears", contract=22)
@BOTH
@LOW
def test_scales_that_float16_cannot_hold(student, draw, name, dtype):
    """Weights of 2**-14 have scales that float16 rounds by 0.4 %; in float32 they come back."""
    weight = (ON_OFF * 2.0**-14).to(dtype)
    layer = quantized(student, name, float_linear(student, weight))

    assert_does(layer, 1000 * draw.normal(5, 8, dtype=dtype), weight, None, "layer(x)")


@task("linears", contract=23)
def test_groups_of_32(student):
    """The default: 32 columns of 16 ones and 16 times -3 come back as 16/15 and -44/15."""
    weight = torch.cat((torch.ones(1, 16), torch.full((1, 16), -3.0), torch.ones(1, 32)), 1)
    linear = float_linear(student, weight)

    layer = expect(student.handle("Int4Linear").from_float(linear), Proxy, "the new layer")

    want = rows([16 * 16 / 15 - 16 * 44 / 15 + 32])
    assert_close(layer(torch.ones(1, 64)), want, "matmul", scale=96.0, what="layer(x)")


@task("linears", contract=23)
@pytest.mark.parametrize(
    ("width", "options", "name"),
    [(48, {}, "group"), (32, {"group": 12}, "group"), (33, {"group": 11}, "w")],
    ids=str,
)
def test_layers_that_int4_refuses(student, width, options, name):
    """What quantize_int4 refuses from_float refuses: 48 columns are no multiple of 32."""
    linear = float_linear(student, torch.ones(2, width))

    with student.raises(ValueError, naming=name):
        student.handle("Int4Linear").from_float(linear, **options)


@task("linears", contract=24)
@pytest.mark.parametrize(("name", "most"), [("Int8Linear", 1.1), ("Int4Linear", 0.8)])
def test_bytes_of_a_layer(student, draw, name, most):
    """A byte a weight, or half of one and 8 for each group of 32; a float takes four."""
    linear = float_linear(student, draw.normal(128, 256))
    empty = student.held_bytes() - 4 * 128 * 256

    layer = quantized(student, name, linear, 32)
    linear.register_parameter("weight", None)  # what the new layer does not hold is gone now
    layer(torch.ones(2, 256))

    each = (student.held_bytes() - empty) / (128 * 256)
    say = f"after from_float and a call a layer holds {each:.2f} bytes for each of its weights"
    check(each <= most, f"{say}, expected {most} at most")
    check(each >= 0.5, f"{say}: its codes alone are more")


@task("linears", contract=25)
@BOTH
def test_float_layer_is_left_alone(student, draw, name):
    """The float layer is as before; when its weight is overwritten later, nothing changes."""
    weight = HELD[name].bfloat16()
    linear = float_linear(student, weight.clone(), BIAS.bfloat16())
    layer = quantized(student, name, linear)

    state = expect(linear.state_dict(), dict, "the float layer's state")
    assert_equal(state, {"weight": weight, "bias": BIAS.bfloat16()}, "the float layer's state")

    linear.load_state_dict({"weight": weight * 0, "bias": BIAS.bfloat16()})
    x = draw.normal(3, 8, dtype=torch.bfloat16)
    assert_does(layer, x, weight, BIAS, "layer(x) after the float weight was overwritten")


@task("linears", contract=26)
def test_layers_side_by_side(student, draw):
    """Layers of one shape and of several groups take turns, twice."""
    weights = {"a": HELD["Int4Linear"], "b": HELD["Int4Linear"] * 2, "c": ON_OFF}
    sizes = {"a": 4, "b": 4, "c": 2}
    layers = {
        key: quantized(student, "Int4Linear", float_linear(student, weight), sizes[key])
        for key, weight in weights.items()
    }
    int8 = [
        quantized(student, "Int8Linear", float_linear(student, HELD["Int8Linear"] * size))
        for size in (1, -2)
    ]
    x = draw.normal(3, 8)

    for turn in ("first", "second"):
        for key, layer in layers.items():
            assert_does(layer, x, weights[key], None, f"the {turn} {key}(x)")
        for layer, size in zip(int8, (1, -2), strict=True):
            assert_does(layer, x, HELD["Int8Linear"] * size, None, f"the {turn} int8 layer(x)")


# --- Task 4: kernel --------------------------------------------------------------------------


def drawn(draw, out: int, width: int, group: int) -> tuple[list[Tensor], Tensor]:
    """Both halves of each byte, scales and zeros at random; and the weights that they stand for."""
    low, high = draw.integers(0, 16, out, width // 2), draw.integers(0, 16, out, width // 2)
    scale = 0.1 + draw.normal(out, width // group).abs()
    zero = draw.integers(0, 16, out, width // group)
    each = torch.stack((low, high), 2).reshape(out, width // group, group) - zero[..., None]
    weight = (each * scale.double()[..., None]).reshape(out, width)
    return [(low + 16 * high).to(torch.uint8), scale, zero.to(torch.uint8)], weight


def assert_product_of(got: object, x: Tensor, weight: Tensor, what: str = "the product") -> None:
    """Compare with x @ W.T in float64; W may have been rounded to x's dtype on the way."""
    wide = x.double()
    want, size = wide @ weight.T, (wide.abs() @ weight.abs().T).nan_to_num()
    rounded = (wide @ weight.to(x.dtype).double().T).to(x.dtype)
    inner = max(x.shape[1], 1024)
    scale = size / x.shape[1] ** 0.5  # what random signs leave of it
    assert_close(got, want, "matmul", like=x, inner=inner, trusted=rounded, scale=scale, what=what)


@task("kernel", contract=27)
def test_example_of_the_kernel(student):
    """int4_matmul multiplies with packed weights."""
    x = torch.stack((torch.arange(1.0, 9.0), torch.ones(8)))

    assert_close(student.int4_matmul(x, PACKED, SCALE, ZERO, 4), rows([119.5], [23.0]), "matmul")


@task("kernel", contract=27)
def test_product_of_several_rows(student, draw):
    """Five rows of x and seven of W, in groups of eight."""
    x, (parts, weight) = draw.normal(5, 24), drawn(draw, 7, 24, 8)

    assert_product_of(student.int4_matmul(x, *parts, 8), x, weight)


@task("kernel", contract=28)
@pytest.mark.parametrize(
    ("M", "out", "width"),
    [(1, 1, 2), (1, 65, 34), (67, 5, 34), (140, 2, 6), (1, 300, 6), (33, 9, 66), (1, 2, 4102)],
)
def test_sizes_that_no_block_has(student, draw, M, out, width):
    """M, O and I are rarely multiples of a block: nothing is left out, nothing comes twice."""
    x, (parts, weight) = draw.normal(M, width), drawn(draw, out, width, 2)

    assert_product_of(student.int4_matmul(x, *parts, 2), x, weight)


@task("kernel", contract=28)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("M", [1, 3])
def test_columns_for_several_programs(student, draw, M, dtype):
    """Where programs share out the columns of a row, their sums meet in that row of y."""
    x, (parts, weight) = draw.normal(M, 4128, dtype=dtype), drawn(draw, 5, 4128, 32)

    assert_product_of(student.int4_matmul(x, *parts, 32), x, weight)


@task("kernel", contract=37)
@pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])
def test_kernel_with_programs_in_any_order(student, draw, order):
    """In any order, or at once as on a GPU, programs write apart and stay within tensors."""
    x, (parts, weight) = draw.normal(35, 66), drawn(draw, 67, 66, 2)

    with student.sound_kernels(order):
        got = student.int4_matmul(x, *parts, 2)

    assert_product_of(got, x, weight)


@task("kernel", contract=37)
@pytest.mark.parametrize("of_weights", [False, True], ids=["rows of x", "rows of W"])
def test_kernel_with_rows_that_lie_far_apart(student, draw, of_weights):
    """The last row begins 2**31 elements behind the first: such an offset needs int64."""
    x, (parts, weight) = draw.normal(5, 12, dtype=torch.bfloat16), drawn(draw, 5, 12, 4)
    apart = [student.far(item, 2**29, 1) for item in (x, parts[0])]
    given = (x, apart[1], *parts[1:]) if of_weights else (apart[0], *parts)

    with student.sound_kernels():
        got = student.int4_matmul(*given, 4)

    assert_product_of(got, x, weight)


@task("kernel", contract=37)
def test_70000_rows_of_x_are_a_grid(student, draw):
    """No axis of a grid but the first has more than 65,535 programs; none runs here."""
    parts, _ = drawn(draw, 3, 8, 4)

    with student.grids_alone():
        student.int4_matmul(torch.ones(1, 8).expand(70_000, 8), *parts, 4)


@task("kernel", contract=29)
@pytest.mark.parametrize(
    ("width", "group"), [(24, 1), (18, 3), (30, 15), (70, 35), (130, 130), (64, 32), (256, 128)]
)
@pytest.mark.parametrize("M", [1, 3])
def test_kernel_takes_any_group(student, draw, M, width, group):
    """With an odd group the two halves of a byte may belong to two groups."""
    x, (parts, weight) = draw.normal(M, width), drawn(draw, 6, width, group)

    assert_product_of(student.int4_matmul(x, *parts, group), x, weight)


@task("kernel", contract=30)
@LOW
@pytest.mark.parametrize(("M", "I"), [(1, 512), (3, 512), (1, 4224), (72, 64)])
def test_product_has_the_dtype_of_x(student, draw, M, I, dtype):  # noqa: E741
    """x of low precision gives a result of that dtype, rounded once."""
    x, (parts, weight) = draw.normal(M, I, dtype=dtype), drawn(draw, 6, I, 32)

    assert_product_of(student.int4_matmul(x, *parts, 32), x, weight)


@task("kernel", contract=30)
@LOW
@pytest.mark.parametrize("M", [1, 3])
def test_a_large_number_among_many_small_ones(student, M, dtype):
    """4096 and 480 times 1 make 4576: a sum in float16 or bfloat16 would not notice a 1."""
    packed = torch.full((2, 256), 0x11, dtype=torch.uint8)
    packed[:, :16] = 0
    packed[:, 0] = 0x01
    scale, zero = torch.ones(2, 16), torch.zeros(2, 16, dtype=torch.uint8)
    scale[:, 0] = 4096

    got = student.int4_matmul(torch.ones(M, 512, dtype=dtype), packed, scale, zero, 32)

    assert_equal(got, torch.full((M, 2), 4576.0, dtype=dtype), "the product")


@task("kernel", contract=30)
@LOW
@pytest.mark.parametrize("M", [1, 3])
def test_what_is_left_when_columns_cancel(student, draw, M, dtype):
    """v times a, and b, less v times a + b is nothing; of the first number of v all is left."""
    v = draw.normal(M, 128, dtype=dtype)
    v[:, 0], less = 1.0, -v
    less[:, 0] = 0.0
    a, b = draw.integers(-3, 4, 2, 5, 128)
    mixed = torch.randperm(384, generator=draw.generator)
    x = torch.cat((v, v, less), 1)[:, mixed]
    steps = torch.cat((a, b, a + b), 1)[:, mixed] + 7
    packed = (steps[:, 0::2] + 16 * steps[:, 1::2]).to(torch.uint8)
    scale, zero = torch.full((5, 12), 0.25), torch.full((5, 12), 7, dtype=torch.uint8)

    got = student.int4_matmul(x, packed, scale, zero, 32)

    want = ((a + b)[:, 0] * 0.25).expand(M, 5)
    assert_close(got, want, "matmul", dtype=dtype, inner=384, what="the product")


@task("kernel", contract=30)
@pytest.mark.parametrize("M", [1, 3])
def test_sums_that_leave_the_range_of_float16(student, M):
    """1000 times 70, which float16 does not hold, and as much taken away, leave 5."""
    packed, scale = of_bytes([0x88, 0x8F, 0x81, 0x8D]), rows([1.0, 10.0, 10.0, 1.0])
    x = torch.tensor([[0.0, 0.0, 1000.0, 0.0, 1000.0, 0.0, 1.0, 0.0]]).half().expand(M, 8)

    got = student.int4_matmul(x, packed, scale, torch.full_like(packed, 8), 2)

    assert_equal(got, torch.full((M, 1), 5.0).half(), "the product")


@task("kernel", contract=31)
@pytest.mark.parametrize(("large", "small"), [(1e6, 1e-7), (1e-9, 1e7)], ids=["large", "small"])
@pytest.mark.parametrize("M", [1, 3])
def test_far_beyond_float16(student, draw, M, large, small):
    """bfloat16 holds x of a million and of a billionth, and W may make up for either."""
    x, (parts, weight) = draw.normal(M, 64, dtype=torch.bfloat16) * large, drawn(draw, 6, 64, 32)
    parts[1] *= small

    assert_product_of(student.int4_matmul(x, *parts, 32), x, weight * small)


@task("kernel", contract=31)
@pytest.mark.parametrize("M", [1, 3])
def test_scales_below_those_of_float16(student, draw, M):
    """A scale of 30.5 times 2**-24 is 30 times that in float16; even codes times it, it holds."""
    x, scale = 1000 * draw.normal(M, 64, dtype=torch.float16), torch.full((6, 1), 30.5 * 2.0**-24)
    low, high = 2 * draw.integers(0, 8, 2, 6, 32)
    packed, zero = (low + 16 * high).to(torch.uint8), torch.full((6, 1), 8, dtype=torch.uint8)

    got = student.int4_matmul(x, packed, scale, zero, 64)

    weight = (torch.stack((low, high), 2).reshape(6, 64) - 8) * scale.double()
    assert_product_of(got, x, weight)


@task("kernel", contract=32)
def test_unit_vectors_give_the_weights(student):
    """With the rows of an identity matrix for x the product is W.T: all bytes, all zeros."""
    packed = torch.arange(256, dtype=torch.uint8).reshape(16, 16)
    zero = torch.arange(16, dtype=torch.uint8).repeat(16, 1)

    got = student.int4_matmul(torch.eye(32), packed, torch.full((16, 16), 0.5), zero, 2)

    want = [
        [
            half / 2 - column / 2
            for column in range(16)
            for half in divmod(16 * row + column, 16)[::-1]
        ]
        for row in range(16)
    ]
    assert_close(got, rows(*want).T, "matmul", inner=32, what="the product")


@task("kernel", contract=33)
@LAYOUTS
@pytest.mark.parametrize("M", [1, 4])
def test_product_of_views(student, draw, M, layout):
    """x, packed, scale and zero may be views; what lies beside them is garbage, and stays."""
    x, (parts, weight) = draw.normal(M, 32), drawn(draw, 6, 32, 8)
    watched = [student.watch(among_others(part, layout, 0x5A)) for part in (x, *parts)]

    got = student.int4_matmul(*watched, 8)

    assert_product_of(got, x, weight)
    assert_unchanged(**dict(zip(("x", "packed", "scale", "zero"), watched, strict=True)))


@task("kernel", contract=34)
@pytest.mark.parametrize("column", [0, 69])
def test_nan_in_one_row(student, draw, column):
    """NaN at the edge of a row of x is not met by a block of another row that ends there."""
    x, (parts, weight) = draw.normal(5, 70), drawn(draw, 6, 70, 14)
    x[2, column] = math.nan

    got = expect(student.int4_matmul(x, *parts, 14), Tensor, "the product")

    assert_product_of(got, x, weight)


@task("kernel", contract=35)
def test_products_outlive_the_next_call(student, draw):
    """Several calls, of one shape and of others, then a look at all of their results."""
    shapes = [(1, 9, 32, 8), (1, 9, 32, 8), (3, 9, 32, 8), (1, 5, 64, 8), (1, 9, 32, 16)]
    cases = [(draw.normal(M, i), *drawn(draw, o, i, group), group) for M, o, i, group in shapes]

    calls = [(x, *parts, group) for x, parts, _, group in cases]
    results = expect(student.together("int4_matmul", *calls), list[Tensor], "the products")

    for number, (got, (x, _, weight, _)) in enumerate(zip(results, cases, strict=True)):
        assert_product_of(got, x, weight, f"the product of call {number}")


@task("kernel", contract=36)
@pytest.mark.parametrize("M", [1, 3])
def test_product_is_what_kernels_wrote(student, draw, M):
    """While none of your kernels runs the product is wrong."""
    x, (parts, weight) = draw.normal(M, 64), drawn(draw, 20, 64, 32)

    due = x.double() @ weight.T
    assert_from_kernels(student, lambda: student.int4_matmul(x, *parts, 32), [due], "the product")


# Torch operators that unpack, scale or multiply, by how their names begin.
WORK = ("mul", "mm", "addmm", "bmm", "matmul", "linear", "einsum", "div", "bitwise", "__")


@task("kernel", contract=36)
@pytest.mark.parametrize("M", [1, 3])
def test_torch_does_none_of_the_work(student, draw, M):
    """Torch may move and add up; to unpack, scale and multiply is for your kernels."""
    x, (parts, _) = draw.normal(M, 64), drawn(draw, 20, 64, 32)

    with student.operators() as operators:
        expect(student.int4_matmul(x, *parts, 32), Tensor, "the product")

    found = [name for name, most in operators.seen.items() if most >= 20 and name.startswith(WORK)]
    check(not found, f"torch was called for {', '.join(sorted(found))}, expected none of these")


@task("kernel", contract=38)
@pytest.mark.parametrize(
    ("dtype", "gpu", "M"),
    [(torch.float32, "sm_80", 3), (torch.bfloat16, "sm_90", 1), (torch.bfloat16, "sm_90", 3)],
    ids=str,
)
def test_kernels_compile(student, draw, dtype, gpu, M):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    x, (parts, weight) = draw.normal(M, 128, dtype=dtype), drawn(draw, 6, 128, 32)

    with student.compilable_kernels(gpu):
        got = student.int4_matmul(x, *parts, 32)

    assert_product_of(got, x, weight)


# --- Task 5: model ---------------------------------------------------------------------------


def module_of(student, name: str):
    """A class of torch.nn, on the submission's side."""
    return getattr(student.handle("nn", given="llama"), name)


def plain(student, out: int = 3, width: int = 32) -> Proxy:
    return expect(module_of(student, "Linear")(width, out), Proxy, "nn.Linear")


def quantize(student, model: Proxy, name: str = "Int8Linear", **options: object) -> Proxy:
    new = student.quantize_model(model, student.handle(name), **options)
    return expect(new, Proxy, "the new model")


def assert_kinds(model: Proxy, which: str, **wanted: str) -> None:
    """Compare the classes of modules, by name; `__` stands for the dots."""
    for key, kind in wanted.items():
        name = key.replace("__", ".")
        found = expect(model.get_submodule(name), Proxy, name).kind_
        check(found == kind, f"{name} of {which} is of class {found}, expected {kind}")


@task("model", contract=39)
@BOTH
def test_example_of_the_model(student, name):
    """Linear layers are replaced in a new model, at any depth, but not lm_head."""
    inner = module_of(student, "Sequential")(module_of(student, "ReLU")(), plain(student, 3, 64))
    parts = {"proj": plain(student), "deep": inner, "lm_head": plain(student, 5)}
    model = module_of(student, "ModuleDict")(parts)

    new = quantize(student, model, name)

    kinds = {"proj": name, "deep__0": "ReLU", "deep__1": name, "lm_head": "Linear"}
    assert_kinds(new, "the new model", **kinds)


@task("model", contract=39)
def test_layers_of_any_width(student):
    """Int8Linear takes every width, so no layer may be left out for its own."""
    model = module_of(student, "Sequential")(plain(student, 4, 33), plain(student, 1, 1))

    new = quantize(student, model)

    assert_kinds(new, "the new model", **{"0": "Int8Linear", "1": "Int8Linear"})


@task("model", contract=39)
def test_subclass_of_linear(student):
    """A class that is derived from nn.Linear, as torch's attention has one, is an nn.Linear."""
    modules = expect(module_of(student, "modules"), Proxy, "torch.nn.modules")
    module = expect(modules.linear, Proxy, "its linear").NonDynamicallyQuantizableLinear
    model = module_of(student, "Sequential")(module(32, 3))

    assert_kinds(quantize(student, model), "the new model", **{"0": "Int8Linear"})


@task("model", contract=39)
def test_model_that_is_a_linear(student):
    """A model that is itself an nn.Linear becomes a quantized layer."""
    kind = quantize(student, plain(student)).kind_

    check(kind == "Int8Linear", f"the new model is a {kind}, expected an Int8Linear")


NAMES = ("lm_head", "lm_head2", "my_lm_head", "head", "block.lm_head", "block.proj", "block.out")


@task("model", contract=40)
@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ("lm_head", "block.lm_head")),
        ({"skip": ()}, ()),
        ({"skip": ("proj", "head")}, ("head", "block.proj")),
        ({"skip": ("block", "block.out")}, ()),
    ],
    ids=str,
)
def test_names_that_skip_keeps(student, options, kept):
    """The last part of a name decides, and it is compared as a whole."""
    own = {name: plain(student) for name in NAMES if "." not in name}
    block = {name[6:]: plain(student) for name in NAMES if "." in name}
    inner = module_of(student, "ModuleDict")(block)
    model = module_of(student, "ModuleDict")(own | {"block": inner})

    new = quantize(student, model, **options)

    kinds = {name: "Linear" if name in kept else "Int8Linear" for name in NAMES}
    wanted = {name.replace(".", "__"): kind for name, kind in kinds.items()}
    assert_kinds(new, "the new model", **wanted)


@task("model", contract=40)
def test_a_name_above_the_last(student):
    """lm_head.proj is replaced: its last part is proj."""
    inner = module_of(student, "ModuleDict")({"proj": plain(student)})
    model = module_of(student, "ModuleDict")({"lm_head": inner})

    assert_kinds(quantize(student, model), "the new model", lm_head__proj="Int8Linear")


@task("model", contract=41)
def test_all_else_stays(student):
    """Embedding, norm and lm_head of a bfloat16 model are in bfloat16 and hold what they held."""
    parts = {
        "embed": module_of(student, "Embedding")(7, 32),
        "norm": module_of(student, "LayerNorm")(32),
        "proj": plain(student),
        "lm_head": plain(student, 7),
    }
    model = expect(module_of(student, "ModuleDict")(parts), Proxy, "nn.ModuleDict").bfloat16()
    before = expect(model.state_dict(), dict, "the state of the model")

    new = quantize(student, model)

    kinds = {"embed": "Embedding", "norm": "LayerNorm", "proj": "Int8Linear", "lm_head": "Linear"}
    assert_kinds(new, "the new model", **kinds)
    for name in ("embed", "norm", "lm_head"):
        got = expect(new.get_submodule(name), Proxy, name).weight
        assert_equal(got, before[f"{name}.weight"], f"the weight of {name} in the new model")


class Witness:
    """A linear class that you have never seen: it counts, and makes an nn.Identity of a layer."""

    def __init__(self, student) -> None:
        self.widths: list[int] = []
        self.identity = module_of(student, "Identity")

    def from_float(self, linear: object) -> object:
        width = expect(linear, Proxy, "what from_float was given").in_features
        self.widths.append(expect(width, int, "in_features"))
        return self.identity()


@task("model", contract=42)
def test_a_linear_class_of_any_kind(student):
    """linear_cls.from_float is asked once for each layer, and what it made is put in."""
    witness = Witness(student)
    sizes = {"a": 4, "b": 6, "c": 8, "lm_head": 10}
    parts = {name: plain(student, 2, width) for name, width in sizes.items()}
    model = module_of(student, "ModuleDict")(parts)

    new = student.quantize_model(model, student.lend(witness, methods=("from_float",)))

    asked = sorted(witness.widths)
    check(asked == [4, 6, 8], f"from_float was asked for widths {asked}, expected [4, 6, 8]")
    kinds = {"a": "Identity", "b": "Identity", "c": "Identity", "lm_head": "Linear"}
    assert_kinds(expect(new, Proxy, "the new model"), "the new model", **kinds)


@task("model", contract=43)
def test_one_layer_at_two_places(student):
    """A layer that is used twice is replaced twice, by one and the same."""
    layer, witness = plain(student, 32, 32), Witness(student)
    model = module_of(student, "Sequential")(layer, module_of(student, "ReLU")(), layer)

    new = quantize(student, model)
    student.quantize_model(model, student.lend(witness, methods=("from_float",)))

    kinds = {"0": "Int8Linear", "1": "ReLU", "2": "Int8Linear"}
    assert_kinds(new, "the new model", **kinds)
    asked = len(witness.widths)
    check(asked == 1, f"from_float was asked {asked} times for one layer, expected once")


@task("model", contract=44)
def test_model_that_is_passed_is_left_alone(student):
    """Its layers are nn.Linear still, with the same numbers, and it is training still."""
    parts = {"proj": plain(student).bfloat16(), "lm_head": plain(student)}
    model = expect(module_of(student, "ModuleDict")(parts), Proxy, "the model")
    before = expect(model.state_dict(), dict, "the state of the model")

    new = quantize(student, model)

    assert_kinds(new, "the new model", proj="Int8Linear")
    assert_kinds(model, "the model that was passed", proj="Linear", lm_head="Linear")
    assert_equal(model.state_dict(), before, "the state of the model that was passed")
    assert_equal(model.training, True, "training of the model that was passed")


@task("model", contract=45)
@BOTH
def test_float_weights_may_go(student, draw, name):
    """When the old weights are overwritten with zeros, the new model answers as before."""
    layer = float_linear(student, ON_OFF.repeat(1, 4), BIAS)
    model = module_of(student, "Sequential")(layer)
    x = draw.normal(3, 32)
    new = quantize(student, model, name)
    before = expect(new(x), Tensor, "what the new model returns")

    layer.load_state_dict({"weight": torch.zeros(2, 32), "bias": BIAS})

    assert_equal(new(x), before, "what the new model returns later")


@task("model", contract=46)
def test_error_of_from_float(student):
    """Int4Linear refuses 48 columns: quantize_model says so, and the model stays as it was."""
    parts = {"first": plain(student), "second": plain(student, 3, 48), "third": plain(student)}
    model = module_of(student, "ModuleDict")(parts)

    with student.raises(ValueError, naming="group"):
        student.quantize_model(model, student.handle("Int4Linear"))

    kinds = {"first": "Linear", "second": "Linear", "third": "Linear"}
    assert_kinds(model, "the model that was passed", **kinds)


SHIPPED = Path(__file__).resolve().parents[1] / "checkpoints" / "target"
# `if __name__ ==` with the BOS in front, and what the target says to it before its EOS, which is 1.
PROMPT = [0, 781, 507, 376, 317, 553]
ANSWER = [2043, 782, 317, 915, 281, 894, 15, 782, 302, 200, 1]  # "__main__":\n    unittest.main()
SOME = [0, 1, 200, 507, 2043]
# Logits of SOME after `if __name` and after `if __name__ ==`. In float the second row is
# 0.0011, -1.6446, 2.3757, 10.1363, 17.2452.
LOGITS = {
    "Int8Linear": rows(
        [-7.8109, -4.9342, 3.7287, 0.4716, -0.1516], [0.0302, -1.6241, 2.3591, 10.0986, 17.2639]
    ),
    "Int4Linear": rows(
        [-7.4932, -4.4277, 4.0044, 1.0031, -0.1033], [0.0021, -1.7800, 2.3872, 9.8763, 16.8033]
    ),
}
# Weights halfway between two codes go to either, as your division rounds: logits may differ a bit.
NEAR = {"Int8Linear": 0.025, "Int4Linear": 0.22}


def target(student) -> Proxy:
    """The shipped checkpoint in float32: what is printed here is nothing that MODEL=path says."""
    folder = student.checkpoint("target")
    if folder.host.resolve() != SHIPPED:
        raise NotGraded("the numbers printed in this test are those of labs/checkpoints/target")
    weights = expect(student.given("common").load_weights(folder.path), dict, "the weights")
    config = student.handle("LlamaConfig", given="common").from_pretrained(folder.path)
    weights = {name: expect(each, Tensor, name).float() for name, each in weights.items()}
    return expect(student.given("llama").Llama(config, weights), Proxy, "the given Llama")


def logits_of(model: Proxy, tokens: list[int]) -> Tensor:  # [T, V]
    places = torch.arange(len(tokens))[None]
    logits = model(torch.tensor([tokens]), places)
    return shaped(logits, 1, len(tokens), 2048, what="the logits")[0]


@task("model", contract=47)
@BOTH
def test_quantized_target(student, name):
    """Some logits of the shipped checkpoint, and the text that it still writes."""
    new = quantize(student, target(student), name)

    some = logits_of(new, PROMPT)[[2, 5]][:, SOME]
    off = (some - LOGITS[name]).abs().max().item()
    lists = [[[round(x, 4) for x in row] for row in each.tolist()] for each in (some, LOGITS[name])]
    say = f"logits of tokens {SOME} are {lists[0]}, expected {lists[1]}"
    check(off < NEAR[name], f"{say}, each to {NEAR[name]}")

    tokens = list(PROMPT)
    while len(tokens) < 20 and tokens[-1] != 1:
        tokens.append(int(logits_of(new, tokens)[-1].argmax()))
    assert_equal(tokens[6:], ANSWER, "the list of new tokens")


# --- Task 6: cache ---------------------------------------------------------------------------


def new_cache(student) -> Proxy:
    return expect(student.QuantizedCache(), Proxy, "QuantizedCache()")


def updated(cache: Proxy, k: Tensor, v: Tensor) -> Two:
    got = expect(cache.update(k, v), Two, "what update returns")
    B, G, T, D = k.shape
    for x, what in zip(got, ("keys", "values"), strict=True):
        right = x.dim() == 4 and (*x.shape[:2], x.shape[3]) == (B, G, D) and x.shape[2] >= T
        say = f"the {what} have shape {list(x.shape)}, expected [{B}, {G}, S, {D}] with all tokens"
        check(right, say)
    return got


def exact(draw, T: int, B: int = 2, G: int = 3, D: int = 8) -> Tensor:  # [B, G, T, D]
    """Tokens that come back as they were: whole numbers up to 127 times a power of two."""
    x = draw.integers(-127, 128, B, G, T, D).float()
    x[..., 0] = 127
    return x * 2.0 ** draw.integers(-6, 7, B, G, T, 1)


@task("cache", contract=48)
def test_example_of_the_cache(student):
    """Two tokens of two heads: [254, -3, 5, 0.5] is that of task 1, the other has scale 0.01."""
    cache = new_cache(student)
    k = torch.tensor([254.0, -3.0, 5.0, 0.5, 1.27, 0.504, -0.01, 0.0]).reshape(1, 2, 1, 4)

    updated(cache, k, -k)
    keys, values = updated(cache, 2 * k, k)

    want = torch.tensor([254.0, -4.0, 4.0, 0.0, 1.27, 0.5, -0.01, 0.0]).reshape(1, 2, 1, 4)
    for head in (0, 1):
        due = torch.cat((want, 2 * want), dim=2)[:, head]
        assert_close(keys[:, head], due, "elementwise", what=f"keys of head {head}")
        due = torch.cat((-want, want), dim=2)[:, head]
        assert_close(values[:, head], due, "elementwise", what=f"values of head {head}")


@task("cache", contract=48)
def test_all_tokens_come_back(student, draw):
    """Four tokens, then one, then two, of which codes lose nothing: all seven come back."""
    cache = new_cache(student)
    k, v = exact(draw, 7), exact(draw, 7)

    for start, end in ((0, 4), (4, 5), (5, 7)):
        keys, values = updated(cache, k[:, :, start:end], v[:, :, start:end])
        assert_equal(keys, k[:, :, :end], f"the keys of {end} tokens")
        assert_equal(values, v[:, :, :end], f"the values of {end} tokens")


@task("cache", contract=48)
def test_tokens_lose_half_a_scale(student, draw):
    """A token's own head decides: its numbers are off by 1/254 of its largest at most."""
    x = draw.normal(2, 3, 4, 16) * 10.0 ** draw.integers(-3, 4, 2, 3, 4, 1)

    keys, _ = updated(new_cache(student), x, x)

    shaped(keys, 2, 3, 4, 16, what="the keys")
    worst = float(((keys - x).abs() / x.abs().amax(-1, keepdim=True)).max() * 127)
    check(0.3 < worst < 0.501, f"a key is {worst:.3f} scales off, expected a little less than 0.5")


@task("cache", contract=49)
def test_old_tokens_stay(student, draw):
    """Tokens a thousand times as large, and as small, change no bit of what was there."""
    cache = new_cache(student)
    last = updated(cache, draw.normal(2, 3, 5, 8), draw.normal(2, 3, 5, 8))

    for size in (1e3, 1e-3, 1.0):
        k, v = draw.normal(2, 3, 2, 8) * size, draw.normal(2, 3, 2, 8) * size
        now = updated(cache, k, v)
        for got, old, what in zip(now, last, ("keys", "values"), strict=True):
            assert_equal(got[:, :, : old.shape[2]], old, f"the {what} of older tokens")
        last = now


@task("cache", contract=50)
def test_rewind_and_go_on(student, draw):
    """Five tokens, three dropped, two new ones: four, of which the last two are the new ones."""
    cache = new_cache(student)
    k, new = exact(draw, 5), exact(draw, 2)

    assert_equal(cache.length, 0, "length at first")
    cache.rewind(0)
    updated(cache, k, -k)
    assert_equal(cache.length, 5, "length after update of 5")
    cache.rewind(3)
    assert_equal(cache.length, 2, "length after update of 5, rewind(3)")
    cache.rewind(0)
    assert_equal(cache.length, 2, "length after update of 5, rewind(3), rewind(0)")
    keys, values = updated(cache, new, -new)

    want = torch.cat((k[:, :, :2], new), 2)
    assert_equal(keys, want, "the keys after update of 5, rewind(3), rewind(0), update of 2")
    assert_equal(values, -want, "the values after update of 5, rewind(3), rewind(0), update of 2")
    cache.rewind(4)
    keys, _ = updated(cache, new, new)
    assert_equal(keys, new, "the keys after all four were dropped, and an update of 2")


@task("cache", contract=51)
@pytest.mark.parametrize(("tokens", "n"), [(0, 1), (3, 4), (3, 50), (3, -1)])
def test_rewind_refuses(student, draw, tokens, n):
    """Neither more tokens than there are can be dropped, nor fewer than none."""
    cache = new_cache(student)
    x, one = exact(draw, tokens), exact(draw, 1)
    if tokens:
        updated(cache, x, x)

    with student.raises(ValueError, naming="n"):
        cache.rewind(n)

    assert_equal(cache.length, tokens, f"length after update of {tokens}, and rewind({n})")
    keys, _ = updated(cache, one, one)
    assert_equal(keys, torch.cat((x, one), 2), f"the keys after a refused rewind({n})")


@task("cache", contract=52)
@LOW
@pytest.mark.parametrize("size", [1.0, 3.0, 2.0**-14])
def test_cache_in_low_precision(student, dtype, size):
    """What is 0 or as large as any of its head comes back as it was, in its dtype."""
    x = (ON_OFF * size).to(dtype).reshape(1, 2, 1, 8)
    cache = new_cache(student)

    updated(cache, x, -x)
    keys, values = updated(cache, -x, x)

    assert_equal(keys, torch.cat((x, -x), 2), "the keys")
    assert_equal(values, torch.cat((-x, x), 2), "the values")


@task("cache", contract=52)
@LOW
def test_codes_of_a_cache_in_low_precision(student, draw, dtype):
    """The same tokens in float32 come back the same, but for one rounding."""
    x = draw.normal(2, 3, 20, 16).to(dtype)

    keys, _ = updated(new_cache(student), x, x)

    want, _ = updated(new_cache(student), x.float(), x.float())
    assert_close(keys, want, "elementwise", dtype=dtype, what="the keys")


@task("cache", contract=53)
@pytest.mark.parametrize(("B", "G", "D"), [(1, 1, 8), (3, 1, 8), (1, 4, 8), (2, 2, 1)])
def test_no_axis_is_lost(student, draw, B, G, D):
    """One sequence, one head or one number a head: shapes stay, rewound too."""
    cache = new_cache(student)
    k = exact(draw, 4, B, G, D)

    updated(cache, k[:, :, :3], k[:, :, :3])
    cache.rewind(1)
    keys, values = updated(cache, k[:, :, 2:], -k[:, :, 2:])

    assert_equal(keys, k, "the keys")
    assert_equal(values[:, :, 2:], -k[:, :, 2:], "the values of new tokens")


@task("cache", contract=53)
def test_heads_of_zeros(student, draw):
    """A head that is all zeros comes back as zeros, beside others."""
    x = exact(draw, 3)
    x[0, 1, 2] = 0.0
    x[1, :, 0] = 0.0

    keys, values = updated(new_cache(student), x, -x)

    assert_equal(keys, x, "the keys")
    assert_equal(values, -x, "the values")


@task("cache", contract=54)
def test_two_caches_take_turns(student, draw):
    """Each cache has its own tokens; k and v, views here, are as they were."""
    caches = [new_cache(student) for _ in range(2)]
    wide = exact(draw, 6).transpose(1, 2).contiguous().transpose(1, 2)

    for part in (wide[:, :, :4], wide[:, :, 4:]):
        for cache, sign in zip(caches, (1, -1), strict=True):
            k, v = student.watch(part * sign), student.watch(part)
            expect(cache.update(k, v), Two, "what update returns")
            assert_unchanged(k=k, v=v)
    view = student.watch(wide[:, :, ::3])
    keys, _ = expect(caches[0].update(view, view), Two, "what update returns")

    assert_equal(keys, torch.cat((wide, wide[:, :, ::3]), 2), "the keys of the first cache")
    assert_unchanged(k=view)
    keys, _ = updated(caches[1], wide[:, :, :1], wide[:, :, :1])
    assert_equal(keys, torch.cat((-wide, wide[:, :, :1]), 2), "the keys of the second cache")


@task("cache", contract=55)
def test_bytes_of_a_cache(student, draw):
    """64 numbers of a head take 68 bytes, a scale included; as floats they would take 256."""
    cache, numbers = new_cache(student), 2 * 2200 * 2 * 64
    empty = student.held_bytes()

    for T in (1, 2199):
        cache.update(draw.normal(1, 2, T, 64), draw.normal(1, 2, T, 64))

    each = (student.held_bytes() - empty) / numbers
    say = f"after 2200 tokens a cache holds {each:.2f} bytes for each number"
    check(each >= 1, f"{say}, expected 1.06: its codes alone are more")
    check(each < 2.2, f"{say}, expected 1.06, and room to grow")
