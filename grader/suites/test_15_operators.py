"""Hidden suite of lab 15.

What a library computes is asked of a worker that has loaded it alone (tasks silu_mul, norm, int4,
cuda, speed): no line of the submission's Python runs there. Fakes and gradients are asked of one
that has both.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    NotGraded,
    Race,
    assert_close,
    assert_equal,
    assert_unmodified,
    assert_written,
    check,
    counted,
    expect,
    task,
)
from reference import operators as oracle

NAME = "inferlab15.{}"
SCHEMAS = {
    "silu_mul": "(Tensor gate, Tensor up) -> Tensor",
    "silu_mul_backward": "(Tensor dy, Tensor gate, Tensor up) -> (Tensor, Tensor)",
    "add_rms_norm": "(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor",
    "int4_linear": "(Tensor x, Tensor packed, Tensor scale, Tensor zero, int group) -> Tensor",
}
FLOAT32, BFLOAT16 = torch.float32, torch.bfloat16
DTYPES = pytest.mark.parametrize("dtype", [FLOAT32, BFLOAT16], ids=["float32", "bfloat16"])
OTHER = pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32], ids=str)
EPS = 0.3  # so large that it matters where it stands
FORM = "shape, strides, dtype, device"

Call = Callable[..., Any]


@pytest.fixture
def call(student: Any, device: str) -> Call:
    """How the CPU's operators are called: on a GPU their arguments are fetched from there."""

    def ask(name: str, *args: Any) -> Any:
        if device == "cpu":
            return student.operator(f"torch.ops.inferlab15.{name}")(*args)
        return student.given("operating").on_cpu(NAME.format(name), *args)

    return ask


def parts(value: Any, count: int = 2, noun: str = "tensor") -> list[Any]:
    """Return what came as a list of so many."""
    fits = isinstance(value, tuple | list) and len(value) == count
    check(fits, f"{counted(count, noun)} should come back")
    return list(value)


def strided(draw: Any, *shape: int, dtype: torch.dtype = FLOAT32) -> Tensor:
    """Draw a view of the last but one axis first, of every second column, behind an offset."""
    *front, rows, columns = shape
    base = draw.normal(*front, columns * 2 + 1, rows, dtype=dtype)
    return base.transpose(-1, -2)[..., 1::2]


def places_of(x: Tensor) -> Tensor:
    """Return a unit in the last place of bfloat16 at each of some numbers, float64."""
    _, exponent = torch.frexp(x.double())
    return torch.ldexp(torch.ones_like(exponent, dtype=torch.float64), exponent - 8)


def is_clear(want: Tensor) -> Tensor:  # bool
    """Tell where a result is no close call in bfloat16: float32 inside leaves it no choice."""
    off = (want - want.bfloat16().double()).abs() / places_of(want)
    return off < 0.35


def assert_rounded_once(got: Any, want: Tensor, at: Tensor, what: str = "the result") -> None:
    """Fail unless a reply in bfloat16 is the oracle's, rounded, wherever ``at``."""
    value = expect(got, Tensor, what, shape=want.shape)
    check(value.dtype is BFLOAT16, f"{what} is {value.dtype}, expected torch.bfloat16")
    odd = (value != want.bfloat16()) & at
    if bool(odd.any()):
        first = odd.nonzero()[0].tolist()
        told = f"{what} is {float(value[tuple(first)]):.6g} at {first},"
        exact = f" expected {float(want[tuple(first)]):.6g}, rounded once to bfloat16:"
        check(False, f"{told}{exact} {counted(int(odd.sum()), 'value')} of {int(at.sum())} are off")


# --- silu_mul ----------------------------------------------------------------------------------


@task("silu_mul", contract=1, gate=True)
def test_builds(call, draw):
    """The library builds, loads, and has an operator silu_mul."""
    gate, up = draw.normal(3, 5), draw.normal(3, 5)

    got = call("silu_mul", gate, up)

    assert_close(got, oracle.silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=2)
@DTYPES
def test_silu_mul(call, draw, dtype):
    """silu_mul is gate * sigmoid(gate) * up."""
    gate, up = draw.normal(7, 33, dtype=dtype, scale=6.0), draw.normal(7, 33, dtype=dtype)

    got = call("silu_mul", gate, up)

    assert_close(got, oracle.silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=2)
def test_far_from_zero(call, draw):
    """silu_mul is finite wherever its result is."""
    gate = torch.tensor([[-300.0, -88.0, 88.0, 300.0, 1e4, -1e4]])
    up = draw.normal(1, 6)

    got = call("silu_mul", gate, up)

    assert_close(got, oracle.silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=2)
def test_bfloat16_is_rounded_once(call, draw):
    """In bfloat16 the result alone is rounded: what is inside is float32."""
    gate, up = (draw.normal(40, 50, dtype=BFLOAT16, scale=2.0) for _ in range(2))

    got = call("silu_mul", gate, up)

    want = oracle.silu_mul(gate, up)
    assert_rounded_once(got, want, is_clear(want))


@task("silu_mul", contract=2)
@DTYPES
def test_backward(call, draw, dtype):
    """silu_mul_backward gives the gradients of gate and up."""
    dy, gate, up = (draw.normal(5, 19, dtype=dtype, scale=2.0) for _ in range(3))

    got = parts(call("silu_mul_backward", dy, gate, up))

    wanted = oracle.silu_mul_backward(dy, gate, up)
    for value, want, of in zip(got, wanted, ("gate", "up"), strict=True):
        assert_close(value, want, "backward", like=gate, what=f"the gradient of {of}")


@task("silu_mul", contract=2)
def test_backward_far_from_zero(call, draw):
    """Gradients are finite wherever they should be."""
    gate = torch.tensor([[-300.0, -88.0, 88.0, 300.0, 1e4, -1e4]])
    dy, up = draw.normal(1, 6), draw.normal(1, 6)

    got = parts(call("silu_mul_backward", dy, gate, up))

    for value, want in zip(got, oracle.silu_mul_backward(dy, gate, up), strict=True):
        assert_close(value, want, "backward", like=gate)


@task("silu_mul", contract=2)
def test_gradients_in_bfloat16_are_rounded_once(call, draw):
    """In bfloat16 gradients alone are rounded: what is inside is float32."""
    dy, gate, up = (draw.normal(40, 50, dtype=BFLOAT16, scale=2.0) for _ in range(3))

    got = parts(call("silu_mul_backward", dy, gate, up))

    # Where gate is near -1.28 the slope of silu is a difference of nearly equal numbers.
    steep = (gate.double() + 1.28).abs() > 0.1
    wanted = oracle.silu_mul_backward(dy, gate, up)
    for value, want, of in zip(got, wanted, ("gate", "up"), strict=True):
        assert_rounded_once(value, want, is_clear(want) & steep, f"the gradient of {of}")


@task("silu_mul", contract=3)
@pytest.mark.parametrize("name", ["silu_mul", "silu_mul_backward"])
@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "second", "last"])
def test_mixed_dtypes_are_refused(student, call, draw, name, place):
    """An argument of another dtype than the others is a RuntimeError."""
    args = [draw.normal(4, 6) for _ in range(3 if "backward" in name else 2)]
    call(name, *args)  # which is fine
    args[place] = args[place].bfloat16()

    with student.raises(RuntimeError):
        call(name, *args)


@task("silu_mul", contract=3)
@OTHER
def test_other_dtypes_are_refused(student, call, draw, dtype):
    """Other dtypes than float32 and bfloat16 are a RuntimeError."""
    dy, gate, up = (draw.normal(4, 6).to(dtype) for _ in range(3))
    call("silu_mul", gate.float(), up.float())  # which is fine

    with student.raises(RuntimeError):
        call("silu_mul", gate, up)
    with student.raises(RuntimeError):
        call("silu_mul_backward", dy, gate, up)


@task("silu_mul", contract=3)
@pytest.mark.parametrize(
    "shapes", [((4, 6), (4, 5)), ((4, 6), (6,)), ((4, 6), (6, 4)), ((4, 6), (1, 6))], ids=str
)
def test_unfit_shapes_are_refused(student, call, draw, shapes):
    """Two shapes are a RuntimeError."""
    gate, up = (draw.normal(*shape) for shape in shapes)
    call("silu_mul", gate, gate)  # which is fine

    with student.raises(RuntimeError):
        call("silu_mul", gate, up)
    with student.raises(RuntimeError):
        call("silu_mul", up, gate)


@task("silu_mul", contract=3)
@pytest.mark.parametrize("place", [0, 1, 2], ids=["dy", "gate", "up"])
def test_unfit_shapes_of_the_backward_are_refused(student, call, draw, place):
    """One tensor of another shape is a RuntimeError."""
    args = [draw.normal(4, 6) for _ in range(3)]
    call("silu_mul_backward", *args)  # which is fine
    args[place] = draw.normal(6, 4)

    with student.raises(RuntimeError):
        call("silu_mul_backward", *args)


@task("silu_mul", contract=4)
@DTYPES
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)], ids=["gate", "up", "both"])
def test_strides(student, call, draw, dtype, which):
    """Views give what their contiguous copies do."""
    args = [draw.normal(2, 3, 7, dtype=dtype) for _ in range(2)]
    for place in which:
        args[place] = strided(draw, 2, 3, 7, dtype=dtype)
    watched = [student.watch(arg) for arg in args]

    got = call("silu_mul", *watched)

    assert_close(got, oracle.silu_mul(*args), "elementwise", like=args[0])
    for each in watched:
        assert_unmodified(each)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("place", [0, 1, 2], ids=["dy", "gate", "up"])
def test_strides_of_the_backward(student, call, draw, place):
    """Views give what their contiguous copies do."""
    args = [draw.normal(2, 3, 7) for _ in range(3)]
    args[place] = strided(draw, 2, 3, 7)
    watched = [student.watch(arg) for arg in args]

    got = parts(call("silu_mul_backward", *watched))

    for value, want in zip(got, oracle.silu_mul_backward(*args), strict=True):
        assert_close(value, want, "backward", like=args[0])
    for each in watched:
        assert_unmodified(each)


@task("silu_mul", contract=4)
def test_expanded_arguments(call, draw):
    """A stride of 0 repeats what lies there."""
    gate, up = draw.normal(5, 1).expand(5, 6), draw.normal(6).expand(5, 6)

    got = call("silu_mul", gate, up)

    assert_close(got, oracle.silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2, 1, 5), (2, 1, 2, 1, 3, 1, 2, 1, 3)], ids=str)
def test_dimensions(call, draw, shape):
    """Any number of dimensions will do."""
    gate, up = (draw.normal(math.prod(shape)).reshape(shape) for _ in range(2))
    axes = tuple(reversed(range(up.dim())))
    up = up.permute(axes).contiguous().permute(axes)

    got = call("silu_mul", gate, up)

    assert_close(got, oracle.silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)], ids=str)
def test_no_elements(call, draw, shape):
    """No elements give none."""
    gate, up = draw.normal(*shape), draw.normal(*shape)

    got = call("silu_mul", gate, up)

    assert_equal(got, gate)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("name", ["silu_mul", "silu_mul_backward"])
def test_result_is_new_and_contiguous(student, draw, name):
    """Results are contiguous, whatever the arguments are."""
    one = [[5, 6], [6, 1], "torch.float32", "cpu"]
    args = [draw.normal(6, 5).t() for _ in range(3 if "backward" in name else 2)]

    got = student.given("operating").form_of(NAME.format(name), args)

    assert_equal(got, [one, one] if "backward" in name else one, FORM)


@task("silu_mul", contract=5)
@pytest.mark.parametrize("name", ["silu_mul", "add_rms_norm", "int4_linear"])
def test_threads(student, call, draw, name):
    """Two threads at once get what each gets alone."""
    case_of = {
        "silu_mul": lambda: [draw.normal(64, 300), draw.normal(64, 300)],
        "add_rms_norm": lambda: [*norm_case(draw, 16, 1500), EPS],
        "int4_linear": lambda: [draw.normal(24, 64), *codes(draw, 48, 64, 16), 16],
    }
    cases = [case_of[name]() for _ in range(2)]
    # What each should be is other contracts' business.
    alone = [call(name, *case) for case in cases]

    got = student.given("operating").at_once(NAME.format(name), cases, 0.25)

    for answer, want in zip(parts(got), alone, strict=True):
        value, same = parts(answer)
        check(expect(same, bool, "whether all are the same"), "calls of one thread differ")
        assert_close(value, expect(want, Tensor, "the result").double(), "elementwise")


@task("silu_mul", contract=6)
def test_schemas(student):
    """The schemas are those of the handout, letter for letter."""
    for name, schema in SCHEMAS.items():
        got = student.given("operating").schema(NAME.format(name))

        assert_equal(got, f"inferlab15::{name}{schema}", f"the schema of {name}")


# --- norm --------------------------------------------------------------------------------------


def norm_case(draw: Any, *shape: int, dtype: torch.dtype = FLOAT32) -> list[Tensor]:
    return [
        draw.normal(*shape, dtype=dtype),
        draw.normal(*shape, dtype=dtype),
        draw.normal(shape[-1], dtype=dtype),
    ]


@task("norm", contract=7)
@DTYPES
def test_residual_is_written(student, call, draw, dtype):
    """residual holds the sum afterwards; x and weight stay."""
    x, residual, weight = norm_case(draw, 5, 21, dtype=dtype)
    watched = [student.watch(each) for each in (x, residual, weight)]

    call("add_rms_norm", *watched, EPS)

    assert_unmodified(watched[0], "x")
    assert_unmodified(watched[2], "weight")
    assert_written(watched[1], oracle.add(x, residual), "residual")


@task("norm", contract=7)
@DTYPES
def test_view_of_residual_is_written(student, call, draw, dtype):
    """A strided view is written where it lies, and nothing around it."""
    base = torch.full((9, 2 * 13 + 1), math.nan, dtype=dtype)
    residual = base[1:8, 1::2]
    residual.copy_(draw.normal(7, 13, dtype=dtype))
    x, weight = draw.normal(7, 13, dtype=dtype), draw.normal(13, dtype=dtype)
    want = base.clone()[1:8, 1::2]
    want.copy_(oracle.add(x, residual))
    watched = student.watch(residual)

    got = call("add_rms_norm", x, watched, weight, EPS)

    assert_close(got, oracle.add_rms_norm(x, residual, weight, EPS), "elementwise", like=x)
    assert_written(watched, want, "residual")


@task("norm", contract=7)
def test_turned_view_of_residual_is_written(student, call, draw):
    """A view whose axes are swapped is written where it lies."""
    x, _, weight = norm_case(draw, 3, 4, 5)
    residual = draw.normal(5, 4, 3).permute(2, 1, 0)
    want = residual.permute(2, 1, 0).clone().permute(2, 1, 0)
    want.copy_(oracle.add(x, residual))
    watched = student.watch(residual)

    call("add_rms_norm", x, watched, weight, EPS)

    assert_written(watched, want, "residual")


@task("norm", contract=8, gate=True)
@DTYPES
def test_norm(call, draw, dtype):
    """add_rms_norm is the norm of the sum, times weight, with eps under the root."""
    x, residual, weight = norm_case(draw, 5, 21, dtype=dtype)

    got = call("add_rms_norm", x, residual, weight, EPS)

    assert_close(got, oracle.add_rms_norm(x, residual, weight, EPS), "elementwise", like=x)


@task("norm", contract=8)
def test_sum_is_rounded_first(call, draw):
    """What is normed is the sum as residual holds it."""
    # In a row of equal sums each is 1 when it is normed, and the result is weight, bit for bit.
    # Of some x just less than a half of residual's last place is lost: a norm of the unrounded
    # sum has them 0.36 % larger, which is a last place of the largest weights of a power of two.
    # Where all are lost, a mean of unrounded squares makes all smaller by as much.
    power = float(draw.choice([1.0, 2.0, 4.0]))
    residual = torch.full((3, 64), 256.0 * power).bfloat16()
    x = torch.zeros(3, 64, dtype=BFLOAT16)
    x[:2, draw.integer(0, 8) :: 16] = 0.98 * power
    x[2] = 0.98 * power
    weight = torch.full((64,), 1.9921875).bfloat16()
    check(bool((oracle.add(x, residual) == residual).all()), "the case is no case")

    got = call("add_rms_norm", x, residual, weight, 1e-9)

    assert_rounded_once(got, weight.double().expand(3, 64), torch.ones(3, 64, dtype=torch.bool))


@task("norm", contract=8)
def test_factor_of_a_row_is_float32(call, draw):
    """In bfloat16 what a row is multiplied by is not rounded."""
    x, residual, _ = norm_case(draw, 20, 40, dtype=BFLOAT16)
    # By powers of two: whoever rounds before weight too is no further off.
    weight = torch.tensor([0.5, 1.0, 2.0, -1.0]).repeat(10).bfloat16()

    got = call("add_rms_norm", x, residual, weight, EPS)

    want = oracle.add_rms_norm(x, residual, weight, EPS)
    assert_rounded_once(got, want, is_clear(want))


@task("norm", contract=8)
def test_rows_have_norms_of_their_own(call, draw):
    """Each row is divided by its own root mean square, however large the others are."""
    sizes = torch.tensor([1e-3, 1.0, 1e3, 30.0])[:, None]
    x, residual, weight = norm_case(draw, 4, 33)
    x, residual = x * sizes, residual * sizes

    got = call("add_rms_norm", x, residual, weight, 1e-6)

    assert_close(got, oracle.add_rms_norm(x, residual, weight, 1e-6), "elementwise", like=x)


@task("norm", contract=8)
@pytest.mark.parametrize("shape", [(4,), (2, 3, 5), (0, 7), (3, 1), (2, 0)], ids=str)
def test_norm_of_any_dimensions(call, draw, shape):
    """Rows are the last dimension, whatever stands before it."""
    x, residual, weight = norm_case(draw, *shape)

    got = call("add_rms_norm", x, residual, weight, EPS)

    want = oracle.add_rms_norm(x, residual, weight, EPS) if x.numel() else x.double()
    assert_close(got, want, "elementwise", like=x)


@task("norm", contract=8)
@pytest.mark.parametrize("place", [0, 2], ids=["x", "weight"])
def test_strides_of_the_norm(student, call, draw, place):
    """Views give what their contiguous copies do, and the result is contiguous."""
    args = norm_case(draw, 7, 13)
    args[place] = strided(draw, 7, 13) if place == 0 else strided(draw, 2, 13)[1]

    got = call("add_rms_norm", *args, EPS)

    assert_close(got, oracle.add_rms_norm(*args, EPS), "elementwise", like=args[0])
    form = student.given("operating").form_of(NAME.format("add_rms_norm"), [*args, EPS])
    assert_equal(form, [[7, 13], [13, 1], "torch.float32", "cpu"], FORM)


@task("norm", contract=9)
def test_unfit_arguments_are_refused(student, call, draw):
    """Another shape or dtype is a RuntimeError."""
    x, residual, weight = norm_case(draw, 4, 6)
    call("add_rms_norm", x, residual, weight, EPS)  # which is fine

    for args in (
        (x, residual[:, :5], weight),
        (x, residual[:1], weight),
        (x, residual, weight[:5]),
        (x, residual, weight[:1]),
        (x, residual, weight.repeat(2)),
        (x, residual, weight.expand(4, 6)),
        (x, residual.bfloat16(), weight),
        (x, residual, weight.bfloat16()),
        (x.bfloat16(), residual, weight),
    ):
        with student.raises(RuntimeError):
            call("add_rms_norm", *args, EPS)


@task("norm", contract=9)
@OTHER
def test_other_dtypes_of_the_norm_are_refused(student, call, draw, dtype):
    """Other dtypes than float32 and bfloat16 are a RuntimeError."""
    case = norm_case(draw, 4, 6)
    call("add_rms_norm", *case, EPS)  # which is fine
    x, residual, weight = (each.to(dtype) for each in case)

    with student.raises(RuntimeError):
        call("add_rms_norm", x, residual, weight, EPS)


# --- int4 --------------------------------------------------------------------------------------


def codes(draw: Any, outputs: int, inputs: int, group: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw packed codes, scales and zeros."""
    packed = draw.integers(0, 256, outputs, inputs // 2).to(torch.uint8)
    scale = draw.normal(outputs, inputs // group).abs() + 0.1
    zero = draw.integers(0, 16, outputs, inputs // group).to(torch.uint8)
    zero[:1, :1] = 0  # its ends are always there
    zero[1:2, :1] = 15
    return packed, scale, zero


def weights(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Return what the oracle's weights are, at once: float64 [O, I]."""
    codes_OI = torch.stack((packed % 16, packed // 16), dim=2).flatten(1).double()
    column = torch.arange(codes_OI.shape[1]) // group
    return (codes_OI - zero.double()[:, column]) * scale.double()[:, column]


def assert_product(got: Any, x: Tensor, held: tuple[Tensor, ...], group: int) -> None:
    """Compare with the oracle's product; terms may cancel."""
    size = x.double().abs() @ weights(*held, group).abs().T
    want = oracle.int4_linear(x, *held, group)
    assert_close(got, want, "matmul", like=x, inner=x.shape[1], scale=size)


@task("int4", contract=10, gate=True)
@pytest.mark.parametrize("group", [1, 2, 3, 6, 9, 18], ids="group{}".format)
def test_int4(call, draw, group):
    """int4_linear multiplies with the weights that the codes stand for."""
    x, held = draw.normal(5, 18), codes(draw, 7, 18, group)

    got = call("int4_linear", x, *held, group)

    assert_product(got, x, held, group)


@task("int4", contract=10)
def test_each_code_of_each_column(call, draw):
    """With one column of x at a time, each weight comes out by itself."""
    held = codes(draw, 16, 6, 3)
    held[0][:, 1] = torch.arange(16, dtype=torch.uint8) * 17  # each code, in both halves

    got = call("int4_linear", torch.eye(6), *held, 3)

    assert_close(got, oracle.int4_weights(*held, 3).T, "elementwise", dtype=FLOAT32)


@task("int4", contract=10)
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("outputs", [0, 1, 5])
def test_few_rows(call, draw, rows, outputs):
    """No row gives none, one row one; so do outputs."""
    x, held = draw.normal(rows, 12), codes(draw, outputs, 12, 3)

    got = call("int4_linear", x, *held, 3)

    assert_product(got, x, held, 3)


@task("int4", contract=10)
@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["x", "packed", "scale", "zero"])
def test_views_of_codes(student, call, draw, place):
    """Views give what their contiguous copies do, and none is changed."""
    args = [draw.normal(4, 12), *codes(draw, 5, 12, 3)]
    args[place] = args[place].t().contiguous().t()
    watched = [student.watch(arg) for arg in args]

    got = call("int4_linear", *watched, 3)

    assert_product(got, args[0], (args[1], args[2], args[3]), 3)
    for each in watched:
        assert_unmodified(each)


@task("int4", contract=10)
def test_product_is_contiguous(student, draw):
    """The result is contiguous, whatever the arguments are."""
    args = [draw.normal(12, 4).t(), *codes(draw, 5, 12, 3), 3]

    got = student.given("operating").form_of(NAME.format("int4_linear"), args)

    assert_equal(got, [[4, 5], [5, 1], "torch.float32", "cpu"], FORM)


@task("int4", contract=11)
def test_int4_in_bfloat16(call, draw):
    """In bfloat16 x and the result are, scales stay float32."""
    x, held = draw.normal(5, 18, dtype=BFLOAT16), codes(draw, 7, 18, 9)

    got = call("int4_linear", x, *held, 9)

    assert_product(got, x, held, 9)


@task("int4", contract=11)
@pytest.mark.parametrize("seen", [0, 1], ids=["even", "odd"])
def test_sums_are_float32(call, draw, seen):
    """Products of bfloat16 are added in float32."""
    # One column is large, and all others add up to what bfloat16 would lose beside it.
    x = torch.full((3, 2048), 1.0).bfloat16()
    x[:, seen] = 512.0
    packed, scale, zero = codes(draw, 5, 2048, 64)
    packed, scale, zero = packed.fill_(0x99), scale.fill_(1.0), zero.fill_(8)

    got = call("int4_linear", x, packed, scale, zero, 64)

    assert_product(got, x, (packed, scale, zero), 64)


@task("int4", contract=12)
def test_unfit_codes_are_refused(student, call, draw):
    """Shapes that do not fit are a RuntimeError."""
    x, (packed, scale, zero) = draw.normal(4, 12), codes(draw, 5, 12, 3)
    call("int4_linear", x, packed, scale, zero, 3)  # which is fine

    for args in (
        (x[:, :10], packed, scale, zero, 3),
        (x[0], packed, scale, zero, 3),
        (x[None], packed, scale, zero, 3),
        (x, packed[0], scale, zero, 3),
        (x, packed, scale[:, :2], zero, 3),
        (x, packed, scale[:1], zero, 3),
        (x, packed, scale, zero[:4], 3),
        (x, packed, scale, zero[:, :1], 3),
    ):
        with student.raises(RuntimeError):
            call("int4_linear", *args)


@task("int4", contract=12)
@pytest.mark.parametrize("group", [5, 24, 0, -3], ids="group{}".format)
def test_unfit_groups_are_refused(student, call, draw, group):
    """A group that does not divide the columns of x is a RuntimeError."""
    x, held = draw.normal(4, 12), codes(draw, 5, 12, 3)
    call("int4_linear", x, *held, 3)  # which is fine

    with student.raises(RuntimeError):
        call("int4_linear", x, *held, group)


@task("int4", contract=12)
def test_unfit_dtypes_of_codes_are_refused(student, call, draw):
    """Dtypes that do not fit are a RuntimeError."""
    x, (packed, scale, zero) = draw.normal(4, 12), codes(draw, 5, 12, 3)
    call("int4_linear", x, packed, scale, zero, 3)  # which is fine

    for args in (
        (x.double(), packed, scale, zero),
        (x.half(), packed, scale, zero),
        (x, packed.int(), scale, zero),
        (x, packed.to(torch.int8), scale, zero),
        (x, packed, scale.double(), zero),
        (x.bfloat16(), packed, scale.bfloat16(), zero),
        (x, packed, scale, zero.int()),
        (x, packed, scale, zero.float()),
    ):
        with student.raises(RuntimeError):
            call("int4_linear", *args, 3)


# --- fakes -------------------------------------------------------------------------------------


def registered(student: Any) -> Any:
    """Let the submission register once in a worker, and return what asks operators there."""
    given = student.given("operating")
    given.once(student.handle("register"))
    return given


def arguments(draw: Any, name: str, rows: int = 5) -> list[Any]:
    """Draw arguments of an operator, one of them a transposed view; columns are 12."""
    if name == "int4_linear":
        return [draw.normal(12, rows).t(), *codes(draw, 7, 12, 3), 3]
    turned, others = draw.normal(12, rows).t(), [draw.normal(rows, 12) for _ in range(2)]
    if name == "add_rms_norm":
        return [turned, others[0], draw.normal(12), EPS]
    return [turned, others[0]] if name == "silu_mul" else [turned, *others]


def in_bfloat16(name: str, args: list[Any]) -> list[Any]:
    """Return arguments in bfloat16, but for scales."""
    made = [a.bfloat16() if isinstance(a, Tensor) and a.dtype is FLOAT32 else a for a in args]
    return [*made[:2], args[2], *made[3:]] if name == "int4_linear" else made


def real_form(name: str, args: list[Any], device: str = "cpu") -> Any:
    outputs = 7 if name == "int4_linear" else 12
    one = [[args[0].shape[0], outputs], [outputs, 1], str(args[0].dtype), device]
    return [one, one] if name == "silu_mul_backward" else one


@task("fake", contract=13, gate=True)
@pytest.mark.parametrize("name", [*SCHEMAS])
@pytest.mark.parametrize("symbolic", [False, True], ids=["sizes", "symbols"])
def test_fake(student, draw, name, symbolic):
    """A fake gives the form of the kernel's result, and reads no value."""
    args = arguments(draw, name)

    got = registered(student).faked(NAME.format(name), args, symbolic)

    assert_equal(got, real_form(name, args), FORM)


@task("fake", contract=13)
@pytest.mark.parametrize("name", [*SCHEMAS])
@pytest.mark.parametrize("place", [1, 2], ids=["second", "third"])
def test_fake_of_other_views(student, draw, name, place):
    """Whichever argument is a view, results are contiguous."""
    args = arguments(draw, name)
    args[0] = args[0].contiguous()
    if place < len(args) and isinstance(args[place], Tensor) and args[place].dim() == 2:
        args[place] = args[place].t().contiguous().t()

    got = registered(student).faked(NAME.format(name), args, False)

    assert_equal(got, real_form(name, args), FORM)


@task("fake", contract=13)
@pytest.mark.parametrize("name", [*SCHEMAS])
def test_fake_of_bfloat16(student, draw, name):
    """A fake has the dtype of its arguments."""
    args = in_bfloat16(name, arguments(draw, name))

    got = registered(student).faked(NAME.format(name), args, False)

    assert_equal(got, real_form(name, args), FORM)


@task("fake", contract=13)
@pytest.mark.parametrize("name", [*SCHEMAS])
def test_fake_of_another_device(student, draw, name):
    """A fake lies where its arguments do, wherever that is."""
    args = arguments(draw, name)

    got = registered(student).faked(NAME.format(name), args, False, "cuda")

    assert_equal(got, real_form(name, args, "cuda"), FORM)


@task("fake", contract=13)
def test_fake_of_other_dimensions(student, draw):
    """A fake has as many dimensions as its arguments."""
    ask = registered(student).faked
    cases = {(): [], (7,): [1], (2, 3, 4): [12, 4, 1], (3, 0): [1, 1]}

    for (shape, strides), symbolic in itertools.product(cases.items(), (False, True)):
        args = [draw.normal(math.prod(shape)).reshape(shape) for _ in range(2)]
        got = ask(NAME.format("silu_mul"), args, symbolic)

        assert_equal(got, [[*shape], strides, "torch.float32", "cpu"], FORM)


@task("fake", contract=14)
def test_one_graph(student, draw):
    """torch.compile makes one graph of the operators, each one node, and two for other sizes."""
    names = ["silu_mul", "add_rms_norm", "int4_linear"]
    cases = [[arguments(draw, name, rows) for name in names] for rows in (5, 6, 9)]

    found = registered(student).compiled([NAME.format(name) for name in names], cases)

    results, graphs = parts(found, 2, "list")
    graphs = expect(graphs, list[int], "graphs")
    check(len(graphs) <= 2, f"three sizes took {counted(len(graphs), 'graph')}")
    check(set(graphs) == {3}, f"graphs have {graphs} nodes that are operators, not 3")
    for case, result in zip(cases, parts(results, 3, "result"), strict=True):
        gated, summed, linear = parts(result, 3)
        assert_close(gated, oracle.silu_mul(*case[0]), "elementwise", like=case[0][0])
        assert_close(summed, oracle.add_rms_norm(*case[1]), "elementwise", like=case[1][0])
        x, *held, group = case[2]
        assert_product(linear, x, tuple(held), group)


@task("fake", contract=14)
@pytest.mark.parametrize("name", [*SCHEMAS])
def test_opcheck(student, draw, name):
    """opcheck of torch finds nothing: neither in the schema, nor in the fake, nor in a graph."""
    tests = ["test_schema", "test_faketensor", "test_aot_dispatch_dynamic"]

    found = registered(student).opcheck(NAME.format(name), arguments(draw, name), [], tests)

    found = expect(found, list[str], "what opcheck finds")
    check(not found, f"opcheck of {name} says: {'; '.join(found)}")


# --- gradients ---------------------------------------------------------------------------------


@task("autograd", contract=15, gate=True)
@DTYPES
@pytest.mark.parametrize("wanted", [[0, 1], [0], [1]], ids=["both", "gate", "up"])
def test_gradients(student, draw, dtype, wanted):
    """silu_mul has the gradients of any dy, for one input or both."""
    dy, gate, up = (draw.normal(5, 12, dtype=dtype) for _ in range(3))

    got = registered(student).gradients(NAME.format("silu_mul"), [gate, up], wanted, dy)

    want = oracle.silu_mul_backward(dy, gate, up)
    for place, value in zip(wanted, parts(got, len(wanted), "gradient"), strict=True):
        what = f"the gradient of {'gate' if place == 0 else 'up'}"
        assert_close(value, want[place], "backward", like=gate, what=what)


@task("autograd", contract=15)
@pytest.mark.parametrize("kind", ["transposed", "expanded"])
def test_strided_dy(student, draw, kind):
    """dy may be a view: expanded, or transposed."""
    gate, up = draw.normal(5, 12), draw.normal(5, 12)
    dy = draw.normal(12, 5).t() if kind == "transposed" else draw.normal(1, 1).expand(5, 12)

    got = registered(student).gradients(NAME.format("silu_mul"), [gate, up], [0, 1], dy)

    for value, want in zip(parts(got), oracle.silu_mul_backward(dy, gate, up), strict=True):
        assert_close(value, want, "backward", like=gate)


@task("autograd", contract=15)
@pytest.mark.parametrize("place", [0, 1], ids=["gate", "up"])
def test_gradients_of_views(student, draw, place):
    """gate and up may be views, of any number of dimensions."""
    args, dy = [draw.normal(2, 3, 7) for _ in range(2)], draw.normal(2, 3, 7)
    args[place] = strided(draw, 2, 3, 7)

    got = registered(student).gradients(NAME.format("silu_mul"), args, [0, 1], dy)

    for value, want in zip(parts(got), oracle.silu_mul_backward(dy, *args), strict=True):
        assert_close(value, want, "backward", like=dy)


@task("autograd", contract=15)
def test_input_that_is_used_twice(student, draw):
    """Where one tensor is gate and up, both of its gradients count."""
    x, dy = draw.normal(5, 12), draw.normal(5, 12)

    got = registered(student).gradient_of_square(NAME.format("silu_mul"), x, dy)

    dgate, dup = oracle.silu_mul_backward(dy, x, x)
    assert_close(got, dgate + dup, "backward", like=x)


@task("autograd", contract=15)
def test_two_calls_have_gradients_of_their_own(student, draw):
    """What one forward keeps for its backward is not the next one's."""
    cases = [[draw.normal(5, 12) for _ in range(2)] for _ in range(2)]
    upstreams = [draw.normal(5, 12) for _ in range(2)]

    ask = registered(student).gradients_in_turn
    got = ask(NAME.format("silu_mul"), cases, upstreams)

    for values, case, dy in zip(parts(got), cases, upstreams, strict=True):
        wanted = oracle.silu_mul_backward(dy, *case)
        for value, want in zip(parts(values), wanted, strict=True):
            assert_close(value, want, "backward", like=dy)


@task("autograd", contract=15)
def test_registration_of_gradients(student, draw):
    """opcheck finds gradients registered where torch looks for them, and the schema kept."""
    args, tests = [draw.normal(5, 12) for _ in range(2)], ["test_autograd_registration"]

    found = registered(student).opcheck(
        NAME.format("silu_mul"), args, [0, 1], ["test_schema", *tests]
    )

    found = expect(found, list[str], "what opcheck finds")
    check(not found, f"opcheck of silu_mul says: {'; '.join(found)}")


@task("autograd", contract=16)
def test_codes_have_no_gradient(student, call, draw):
    """The backward of int4_linear is a RuntimeError; its forward is not."""
    args, dy = arguments(draw, "int4_linear"), draw.normal(5, 7)
    given = registered(student)

    got = call("int4_linear", *args)
    assert_product(got, args[0], (args[1], args[2], args[3]), 3)
    with student.raises(RuntimeError):
        given.gradients(NAME.format("int4_linear"), args, [0], dy)


# --- on a GPU ----------------------------------------------------------------------------------


def ask(student: Any, name: str, *args: Any) -> Any:
    return student.operator(f"torch.ops.inferlab15.{name}")(*args)


# Tails of blocks and of 16 bytes; more rows than the second axis of a grid has blocks.
SIZES = [(1, 1), (7, 333), (3, 2048), (1, 100_003), (70_001, 9)]


@task("cuda", contract=17, gate=True)
@DTYPES
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_silu_mul_on_a_gpu(student, draw, dtype, shape):
    """silu_mul on a GPU gives every element, also where their number fits no block."""
    gate, up = draw.normal(*shape, dtype=dtype, scale=4.0), draw.normal(*shape, dtype=dtype)

    got = ask(student, "silu_mul", gate, up)

    want = torch.nn.functional.silu(gate.double()) * up.double()
    assert_close(got, want, "elementwise", like=gate)


@task("cuda", contract=17)
@DTYPES
@pytest.mark.parametrize("shape", SIZES[:4], ids=str)
def test_backward_on_a_gpu(student, draw, dtype, shape):
    """silu_mul_backward on a GPU gives both gradients."""
    dy, gate, up = (draw.normal(*shape, dtype=dtype) for _ in range(3))

    got = parts(ask(student, "silu_mul_backward", dy, gate, up))

    for value, want in zip(got, gradients_of(dy, gate, up), strict=True):
        assert_close(value, want, "backward", like=gate)


def gradients_of(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients by torch, in float64: the oracle takes an element at a time."""
    leaves = [each.double().requires_grad_() for each in (gate, up)]
    return torch.autograd.grad(torch.nn.functional.silu(leaves[0]) * leaves[1], leaves, dy.double())


def normed(x: Tensor, residual: Tensor, weight: Tensor) -> Tensor:
    """Return the norm by torch, in float64."""
    total = oracle.add(x, residual).double()
    return torch.nn.functional.rms_norm(total, weight.shape, weight.double(), EPS)


@task("cuda", contract=17)
@DTYPES
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_norm_on_a_gpu(student, draw, dtype, shape):
    """add_rms_norm on a GPU norms each row, however wide, and writes residual."""
    x, residual, weight = norm_case(draw, *shape, dtype=dtype)
    watched = student.watch(residual)

    got = ask(student, "add_rms_norm", x, watched, weight, EPS)

    assert_close(got, normed(x, residual, weight), "elementwise", like=x)
    assert_written(watched, oracle.add(x, residual), "residual")


@task("cuda", contract=17)
@DTYPES
@pytest.mark.parametrize("place", [0, 1], ids=["gate", "up"])
def test_strides_on_a_gpu(student, draw, dtype, place):
    """Views give what their contiguous copies do; the result is contiguous."""
    args = [draw.normal(2, 31, 70, dtype=dtype) for _ in range(2)]
    args[place] = strided(draw, 2, 31, 70, dtype=dtype)

    got = ask(student, "silu_mul", *args)

    assert_close(got, oracle.silu_mul(*args), "elementwise", like=args[0])
    form = student.given("operating").form_of(NAME.format("silu_mul"), args, False)
    assert_equal(form, [[2, 31, 70], [2170, 70, 1], str(dtype), "cuda"], FORM)


@task("cuda", contract=17)
@pytest.mark.parametrize("place", [0, 1, 2], ids=["dy", "gate", "up"])
def test_strides_of_the_backward_on_a_gpu(student, draw, place):
    """Views give what their contiguous copies do."""
    args = [draw.normal(2, 31, 70) for _ in range(3)]
    args[place] = strided(draw, 2, 31, 70)

    got = parts(ask(student, "silu_mul_backward", *args))

    for value, want in zip(got, oracle.silu_mul_backward(*args), strict=True):
        assert_close(value, want, "backward", like=args[0])


@task("cuda", contract=17)
@DTYPES
@pytest.mark.parametrize("offset", [1, 2, 3, 5])
def test_unaligned_views_on_a_gpu(student, draw, dtype, offset):
    """A contiguous view may begin anywhere, also where 16 bytes cannot be loaded at once."""
    gate, up = (draw.normal(1000 + offset, dtype=dtype) for _ in range(2))

    for args in ([gate[offset:], up[:1000]], [gate[:1000], up[offset:]]):
        got = ask(student, "silu_mul", *args)
        assert_close(got, oracle.silu_mul(*args), "elementwise", like=gate)


@task("cuda", contract=17)
@DTYPES
def test_view_of_residual_on_a_gpu(student, draw, dtype):
    """A strided view of residual is written where it lies, and nothing around it."""
    base = torch.full((9, 2 * 300 + 1), math.nan, dtype=dtype)
    residual = base[1:8, 1::2]
    residual.copy_(draw.normal(7, 300, dtype=dtype))
    x, weight = strided(draw, 7, 300, dtype=dtype), strided(draw, 2, 300, dtype=dtype)[1]
    want = base.clone()[1:8, 1::2]
    want.copy_(oracle.add(x, residual))
    watched = student.watch(residual)

    got = ask(student, "add_rms_norm", x, watched, weight, EPS)

    assert_close(got, normed(x, residual, weight), "elementwise", like=x)
    assert_written(watched, want, "residual")


@task("cuda", contract=17)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)], ids=str)
def test_no_elements_on_a_gpu(student, draw, shape):
    """No elements give none: a grid without blocks is an error."""
    args = [draw.normal(*shape) for _ in range(3)]

    assert_equal(ask(student, "silu_mul", *args[:2]), args[0])
    for value in parts(ask(student, "silu_mul_backward", *args)):
        assert_equal(value, args[0])
    got = ask(student, "add_rms_norm", *args[:2], draw.normal(shape[-1]), EPS)
    assert_equal(got, args[0])


@task("cuda", contract=17)
def test_unfit_arguments_on_a_gpu(student, draw):
    """What the CPU refuses a GPU refuses too."""
    gate, up = draw.normal(4, 6), draw.normal(4, 6)
    cases = {
        "silu_mul": [(gate, up.bfloat16()), (gate.double(), up.double()), (gate, up[:, :5])],
        "silu_mul_backward": [(gate, up, gate.bfloat16()), (gate[:2], gate, up)],
        "add_rms_norm": [(gate, up, up[0, :5], EPS), (gate, up.bfloat16(), up[0], EPS)],
    }

    for name, args in ((name, args) for name, each in cases.items() for args in each):
        with student.raises(RuntimeError):
            ask(student, name, *args)


@task("cuda", contract=18)
@pytest.mark.parametrize("name", ["silu_mul", "silu_mul_backward", "add_rms_norm"])
def test_current_stream(student, draw, name):
    """A kernel waits for what its stream has to do before it."""
    x, y, weight = norm_case(draw, 50, 70)
    args = {
        "silu_mul": [x, y],
        "silu_mul_backward": [x, y, x],
        "add_rms_norm": [x, y, weight, EPS],
    }[name]
    wanted = {
        "silu_mul": lambda: [oracle.silu_mul(x, y)],
        "silu_mul_backward": lambda: [*oracle.silu_mul_backward(x, y, x)],
        "add_rms_norm": lambda: [normed(x, y, weight)],
    }[name]()

    got = student.given("operating").on_another_stream(NAME.format(name), args)

    got = parts(got, len(wanted) + sum(isinstance(arg, Tensor) for arg in args))
    for value, want in zip(got, wanted, strict=False):
        assert_close(value, want, "backward", like=x)
    if name == "add_rms_norm":
        assert_close(got[2], oracle.add(x, y).double(), "elementwise", like=x, what="residual")


ROOM = 32 << 30  # bytes of a GPU for five tensors of 2**31 numbers in bfloat16, and what else is


@task("cuda", contract=19)
@pytest.mark.parametrize("name", ["silu_mul", "silu_mul_backward", "add_rms_norm"])
def test_more_than_two_to_the_31(student, draw, name):
    """Indices beyond 2**31 find their elements."""
    if torch.cuda.get_device_properties(0).total_memory < ROOM:
        raise NotGraded("a GPU of 32 GiB is needed for tensors of that size")
    width, last = 4096, 3
    rows = (1 << 31) // width + last
    count = 3 if name == "silu_mul_backward" else 2
    ends = [draw.normal(last, width, dtype=BFLOAT16) for _ in range(count)]
    others: list[Any] = []
    wanted: list[Tensor]
    if name == "add_rms_norm":
        weight = draw.normal(width, dtype=BFLOAT16)
        others, wanted = [weight, EPS], [normed(*ends, weight)]
    elif name == "silu_mul":
        wanted = [oracle.silu_mul(*ends)]
    else:
        wanted = [*gradients_of(*ends)]

    got = student.given("operating").at_the_end(NAME.format(name), rows, ends, others)

    got = parts(got, len(wanted) + len(ends))
    for value, want in zip(got, wanted, strict=False):
        assert_close(value, want, "backward", dtype=BFLOAT16)
    if name == "add_rms_norm":
        assert_equal(got[2], oracle.add(*ends), "the last rows of residual")


# --- speed -------------------------------------------------------------------------------------


def race(rows: int, width: int) -> Race:
    """Race silu_mul on a gated MLP's width against torch's two operators."""

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        device = generator.device
        scales = 4.0 ** (2 * torch.rand(2, generator=generator, device=device) - 1)
        gate, up = (
            (torch.randn(rows, width, generator=generator, device=device) * scale).bfloat16()
            for scale in scales
        )
        return gate, up

    return Race(
        function="silu_mul",
        case=f"{rows} x {width}",
        inputs=inputs,
        bytes=6 * rows * width,
        size=rows * width / 1e6,
        axis="M elements",
    )


SPEED = pytest.mark.parametrize(("rows", "width"), [(8192, 14_336)])


@task("speed", gate=True, needs=("cuda",))
@SPEED
def test_silu_mul_is_right_at_speed_sizes(stopwatch, rows, width):
    """silu_mul is right at the size that is timed."""
    stopwatch.verify(race(rows, width))


@task("speed", tiers="silu_mul", needs=("cuda",))
@SPEED
def test_silu_mul_speed(stopwatch, tier, rows, width):
    """silu_mul is faster than torch's silu and multiplication."""
    stopwatch.reach(tier, race(rows, width))
