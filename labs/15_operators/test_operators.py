"""Public tests of lab 15: the handout's examples and a few more, by the handout's numbers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from grader.suite import (
    assert_close,
    assert_equal,
    assert_unmodified,
    assert_written,
    check,
    expect,
    task,
)

NAME = "inferlab15.{}"
SCHEMAS = {
    "silu_mul": "(Tensor gate, Tensor up) -> Tensor",
    "silu_mul_backward": "(Tensor dy, Tensor gate, Tensor up) -> (Tensor, Tensor)",
    "add_rms_norm": "(Tensor x, Tensor(a!) residual, Tensor weight, float eps) -> Tensor",
    "int4_linear": "(Tensor x, Tensor packed, Tensor scale, Tensor zero, int group) -> Tensor",
}
GATE = torch.tensor([[1.0, -2.0, 0.0], [40.0, -90.0, 3.0]])
UP = torch.tensor([[0.5, 2.0, 1.0], [-1.0, 3.0, 0.25]])
DY = torch.tensor([[1.0, 10.0, -3.0], [0.1, 2.0, 5.0]])
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


def two(value: Any) -> list[Any]:
    check(isinstance(value, tuple | list) and len(value) == 2, "two tensors should come back")
    return list(value)


def turned(x: Tensor) -> Tensor:
    """Return a tensor whose values are those of x, and whose columns lie side by side."""
    return x.t().contiguous().t()


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(gate.double()) * up.double()


def gradients_of(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, ...]:
    leaves = [each.double().requires_grad_() for each in (gate, up)]
    return torch.autograd.grad(silu_mul(*leaves), leaves, dy.double())


# --- Task 1: SiLU times up -------------------------------------------------------------------


@task("silu_mul", contract=1)
def test_it_builds(call):
    """The library builds, and has an operator silu_mul."""
    got = call("silu_mul", torch.zeros(2), torch.ones(2))

    assert_equal(got, torch.zeros(2))


@task("silu_mul", contract=2)
def test_silu_mul(call):
    """silu_mul is gate * sigmoid(gate) * up."""
    got = call("silu_mul", GATE, UP)

    assert_close(got, silu_mul(GATE, UP), "elementwise", like=GATE)


@task("silu_mul", contract=2)
def test_silu_mul_in_bfloat16(call):
    """In bfloat16 the result is what float32 gives, rounded once."""
    gate = (torch.arange(-40, 41) / 8).bfloat16()
    up = (1 + torch.arange(81) / 128).bfloat16()

    got = expect(call("silu_mul", gate, up), Tensor, shape=[81])

    want = silu_mul(gate, up)
    rounded = want.bfloat16()
    clear = (want - rounded.double()).abs() <= want.abs() / 1024  # no close calls
    assert_equal(got[clear], rounded[clear])


@task("silu_mul", contract=2)
def test_backward(call):
    """silu_mul_backward gives the gradient of gate, then that of up."""
    got = two(call("silu_mul_backward", DY, GATE, UP))

    for value, want in zip(got, gradients_of(DY, GATE, UP), strict=True):
        assert_close(value, want, "backward", like=GATE)


@task("silu_mul", contract=2)
def test_backward_in_bfloat16(call):
    """In bfloat16 gradients are what float32 gives, rounded once."""
    gate = (torch.arange(0, 81) / 16).bfloat16()
    up = (1 + torch.arange(81) / 128).bfloat16()
    dy = (2 - torch.arange(81) / 128).bfloat16()

    got = two(call("silu_mul_backward", dy, gate, up))

    for value, want in zip(got, gradients_of(dy, gate, up), strict=True):
        rounded = want.bfloat16()
        clear = (want - rounded.double()).abs() <= want.abs() / 1024
        assert_equal(expect(value, Tensor, shape=[81])[clear], rounded[clear])


@task("silu_mul", contract=3)
def test_float64_is_refused(student, call):
    """float64 is a RuntimeError, and so is float16."""
    for dtype in (torch.float64, torch.float16):
        gate, up, dy = (each.to(dtype) for each in (GATE, UP, DY))
        with student.raises(RuntimeError):
            call("silu_mul", gate, up)
        with student.raises(RuntimeError):
            call("silu_mul_backward", dy, gate, up)


@task("silu_mul", contract=3)
def test_mixed_dtypes_are_refused(student, call):
    """One argument in bfloat16 and another in float32 are a RuntimeError."""
    for args in ((GATE.bfloat16(), UP), (GATE, UP.bfloat16())):
        with student.raises(RuntimeError):
            call("silu_mul", *args)
        with student.raises(RuntimeError):
            call("silu_mul_backward", DY, *args)
    with student.raises(RuntimeError):
        call("silu_mul_backward", DY.bfloat16(), GATE, UP)


@task("silu_mul", contract=3)
def test_nothing_is_broadcast(student, call):
    """Two shapes are a RuntimeError, also where one could be repeated."""
    for up in (UP[:, :2], UP[0], UP[:1], UP.t()):
        with student.raises(RuntimeError):
            call("silu_mul", GATE, up)
        with student.raises(RuntimeError):
            call("silu_mul_backward", DY, GATE, up)
        with student.raises(RuntimeError):
            call("silu_mul_backward", up, GATE, UP)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("which", ["gate", "up", "both"])
def test_silu_mul_of_views(student, call, which):
    """A transposed view gives what its contiguous copy does, and stays as it is."""
    gate = GATE if which == "up" else turned(GATE)
    up = UP if which == "gate" else turned(UP)
    watched = [student.watch(gate), student.watch(up)]

    got = call("silu_mul", *watched)

    assert_close(got, silu_mul(gate, up), "elementwise", like=gate)
    for each in watched:
        assert_unmodified(each)


@task("silu_mul", contract=4)
def test_backward_of_views(call):
    """A transposed view gives what its contiguous copy does."""
    for place in range(3):
        args = [DY, GATE, UP]
        args[place] = turned(args[place])
        got = two(call("silu_mul_backward", *args))
        for value, want in zip(got, gradients_of(DY, GATE, UP), strict=True):
            assert_close(value, want, "backward", like=GATE)


@task("silu_mul", contract=4)
@pytest.mark.parametrize("shape", [(), (6,), (1, 2, 1, 1, 3, 1), (0, 4)], ids=str)
def test_dimensions(call, shape):
    """Any number of dimensions will do, and no elements too."""
    gate, up = (each.flatten()[: 0 if 0 in shape else None] for each in (GATE, UP))
    gate, up = (gate[0], up[0]) if shape == () else (gate.reshape(shape), up.reshape(shape))

    got = call("silu_mul", gate, up)

    assert_close(got, silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=4)
def test_one_row_that_is_repeated(call):
    """A stride may be 0, or skip elements."""
    gate, up = GATE[:1].expand(2, 3), UP.repeat_interleave(2, dim=1)[:, ::2]

    got = call("silu_mul", gate, up)

    assert_close(got, silu_mul(gate, up), "elementwise", like=gate)


@task("silu_mul", contract=4)
def test_results_are_contiguous(student):
    """The results are contiguous, whatever the arguments are."""
    one = [[2, 3], [3, 1], "torch.float32", "cpu"]
    form_of = student.given("operating").form_of

    args = [turned(each) for each in (DY, GATE, UP)]
    assert_equal(form_of(NAME.format("silu_mul"), args[1:]), one, FORM)
    assert_equal(form_of(NAME.format("silu_mul_backward"), args), [one, one], FORM)


@task("silu_mul", contract=5)
@pytest.mark.parametrize("name", ["silu_mul", "add_rms_norm", "int4_linear"])
def test_threads(student, name):
    """Calls from two threads at once give the same each time."""
    base = torch.linspace(-3, 3, 24_000)
    cases = {
        "silu_mul": lambda k: [base * k, base + k],
        "add_rms_norm": lambda k: [base.view(16, -1) * k, base.view(16, -1), base[:1500] + k, 0.1],
        "int4_linear": lambda k: [base[:1536].view(24, 64) * k, *held(48, 64, 16, 17 * k), 16],
    }

    got = student.given("operating").at_once(
        NAME.format(name), [cases[name](k) for k in (1, 2)], 0.25
    )

    for answer in two(got):
        check(two(answer)[1] is True, "calls of one thread differ")


@task("silu_mul", contract=6)
@pytest.mark.parametrize("name", SCHEMAS)
def test_schema(student, name):
    """The schemas are those of the handout, letter for letter."""
    got = student.given("operating").schema(NAME.format(name))

    assert_equal(got, f"inferlab15::{name}{SCHEMAS[name]}", f"the schema of {name}")


# --- Task 2: add and norm in place -----------------------------------------------------------

X = torch.tensor([[1.0, 2.0, -4.0], [100.0, 0.0, 50.0]])
RESIDUAL = torch.tensor([[0.5, -1.0, 1.0], [3.0, 7.0, -9.0]])
WEIGHT = torch.tensor([1.0, 0.5, 2.0])


def normed(x: Tensor, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
    total = (x + residual).double()
    return functional.rms_norm(total, weight.shape, weight.double(), eps)


@task("norm", contract=7)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_residual_is_written(student, call, dtype):
    """residual holds the sum afterwards; x and weight stay."""
    args = [each.to(dtype) for each in (X, RESIDUAL, WEIGHT)]
    watched = [student.watch(each) for each in args]

    call("add_rms_norm", *watched, 0.5)

    assert_unmodified(watched[0], "x")
    assert_written(watched[1], args[0] + args[1], "residual")
    assert_unmodified(watched[2], "weight")


@task("norm", contract=7)
def test_view_of_residual_is_written(student, call):
    """A strided view is written where it lies, and nothing around it."""
    base = torch.full((4, 7), -1.0)
    base[1:3, 1::2] = RESIDUAL
    want = base.clone()[1:3, 1::2]
    want += X
    watched = student.watch(base[1:3, 1::2])

    got = call("add_rms_norm", X, watched, WEIGHT, 0.5)

    assert_written(watched, want, "residual")
    assert_close(got, normed(X, RESIDUAL, WEIGHT, 0.5), "elementwise", like=X)


@task("norm", contract=8)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_norm(call, dtype):
    """The result is the norm of the sum, times weight, with eps under the root."""
    args = [each.to(dtype) for each in (X, RESIDUAL, WEIGHT)]

    got = call("add_rms_norm", *args, 0.5)

    assert_close(got, normed(*args, 0.5), "elementwise", like=args[0])


@task("norm", contract=8)
def test_rounded_sum_is_normed(call):
    """What is normed is what residual holds: in bfloat16 256 + 0.98 is 256."""
    residual = torch.full((2, 32), 256.0).bfloat16()
    x = torch.zeros(2, 32).bfloat16()
    x[0, ::16] = 0.98
    x[1] = 0.98
    weight = torch.full((32,), 1.9921875).bfloat16()

    got = call("add_rms_norm", x, residual, weight, 1e-9)

    # All sums are 256, so each of them is 1 in the norm.
    assert_equal(got, weight.repeat(2, 1))


@task("norm", contract=8)
def test_norm_in_bfloat16(call):
    """In bfloat16 what a row is multiplied by is float32."""
    x = (torch.arange(120) % 17 / 8).view(12, 10).bfloat16()
    residual = (torch.arange(120) % 11 / 4 - 1).view(12, 10).bfloat16()
    weight = torch.tensor([0.5, 1.0]).repeat(5).bfloat16()

    got = expect(call("add_rms_norm", x, residual, weight, 0.5), Tensor, shape=[12, 10])

    want = normed(x, residual, weight, 0.5)
    rounded = want.bfloat16()
    clear = (want - rounded.double()).abs() <= want.abs() / 1024  # no close calls
    assert_equal(got[clear], rounded[clear])


@task("norm", contract=8)
def test_norm_of_views(student, call):
    """Views of x and weight, and any number of dimensions."""
    weight = torch.stack((WEIGHT, -WEIGHT), dim=1)[:, 0]
    for shape in ((2, 1, 3), (1, 2, 3)):
        x, residual = turned(X).view(shape), RESIDUAL.view(shape)
        got = call("add_rms_norm", x, residual.clone(), weight, 0.5)
        assert_close(got, normed(x, residual, weight, 0.5), "elementwise", like=x)
    args = [turned(X), turned(RESIDUAL), weight, 0.5]
    form = student.given("operating").form_of(NAME.format("add_rms_norm"), args)
    assert_equal(form, [[2, 3], [3, 1], "torch.float32", "cpu"], FORM)


@task("norm", contract=8)
def test_norm_of_nothing(call):
    """No rows give none."""
    got = call("add_rms_norm", X[:0], RESIDUAL[:0], WEIGHT, 0.5)

    assert_equal(got, X[:0])


@task("norm", contract=9)
def test_unfit_arguments_are_refused(student, call):
    """Another shape or dtype is a RuntimeError."""
    for args in (
        (X, RESIDUAL[:, :2], WEIGHT),
        (X, RESIDUAL[:1], WEIGHT),
        (X, RESIDUAL, WEIGHT[:2]),
        (X, RESIDUAL, WEIGHT[:1]),
        (X, RESIDUAL, WEIGHT.repeat(2)),
        (X, RESIDUAL.bfloat16(), WEIGHT),
        (X, RESIDUAL, WEIGHT.bfloat16()),
        (X.double(), RESIDUAL.double(), WEIGHT.double()),
    ):
        with student.raises(RuntimeError):
            call("add_rms_norm", *args, 0.5)


# --- Task 3: a linear layer of codes ---------------------------------------------------------


def held(outputs: int, inputs: int, group: int, byte: int = 0x35) -> tuple[Tensor, Tensor, Tensor]:
    """Return packed codes, scales and zeros that differ from place to place."""
    count = outputs * inputs // 2
    packed = (torch.arange(count) * 37 + byte).to(torch.uint8).view(outputs, inputs // 2)
    groups = torch.arange(outputs * inputs // group)
    scale = (0.5 + groups / 8).view(outputs, -1)
    return packed, scale, (groups % 11).to(torch.uint8).view(outputs, -1)


def product(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    codes = torch.stack((packed & 15, packed >> 4), dim=2).flatten(1).double()
    at = torch.arange(codes.shape[1]) // group
    return x.double() @ ((codes - zero[:, at].double()) * scale[:, at].double()).T


@task("int4", contract=10)
@pytest.mark.parametrize("group", [2, 3], ids="group{}".format)
def test_weights(call, group):
    """The handout's weights, one column of x at a time; an odd group ends within a byte."""
    packed = {2: [0x21, 0x43], 3: [0x21, 0x43, 0x65]}[group]
    scale, zero = {2: ([1.0, 2.0], [0, 1]), 3: ([1.0, 10.0], [0, 4])}[group]
    want = {2: [1.0, 2, 4, 6], 3: [1.0, 2, 3, 0, 10, 20]}[group]
    codes = torch.tensor([packed], dtype=torch.uint8), torch.tensor([scale])
    zeros = torch.tensor([zero], dtype=torch.uint8)

    got = call("int4_linear", torch.eye(len(want)), *codes, zeros, group)

    assert_equal(got, torch.tensor(want)[:, None])


@task("int4", contract=10)
@pytest.mark.parametrize("place", [0, 1, 2, 3], ids=["x", "packed", "scale", "zero"])
def test_views_of_codes(student, call, place):
    """Views give what their contiguous copies do, and the result is contiguous."""
    args = [torch.linspace(-1, 2, 48).view(4, 12), *held(5, 12, 3)]
    args[place] = turned(args[place])

    got = call("int4_linear", *args, 3)

    assert_close(got, product(*args, 3), "matmul", like=args[0], inner=12)
    form = student.given("operating").form_of(NAME.format("int4_linear"), [*args, 3])
    assert_equal(form, [[4, 5], [5, 1], "torch.float32", "cpu"], FORM)


@task("int4", contract=10)
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(call, rows):
    """No row gives none, one row one."""
    x, codes = torch.linspace(-1, 2, 12).repeat(rows, 1), held(5, 12, 3)

    got = call("int4_linear", x, *codes, 3)

    assert_close(got, product(x, *codes, 3), "matmul", like=x, inner=12)


@task("int4", contract=11)
def test_int4_in_bfloat16(call):
    """In bfloat16 products are added in float32: 512 and 2047 times 1 are 2559."""
    x = torch.ones(2, 2048).bfloat16()
    x[:, 0] = 512
    packed = torch.full((3, 1024), 0x99, dtype=torch.uint8)
    scale, zero = torch.ones(3, 32), torch.full((3, 32), 8, dtype=torch.uint8)

    got = call("int4_linear", x, packed, scale, zero, 64)

    assert_close(got, torch.full((2, 3), 2559.0), "matmul", like=x, inner=2048)


@task("int4", contract=12)
def test_unfit_codes_are_refused(student, call):
    """Shapes, dtypes and groups that do not fit are a RuntimeError."""
    x, (packed, scale, zero) = torch.ones(4, 12), held(5, 12, 3)

    for args in (
        (x[:, :10], packed, scale, zero, 3),
        (x[0], packed, scale, zero, 3),
        (x, packed, scale[:, :2], zero, 3),
        (x, packed, scale, zero[:4], 3),
        (x, packed, scale, zero, 5),
        (x, packed, scale, zero, 0),
        (x.double(), packed, scale, zero, 3),
        (x, packed, scale.double(), zero, 3),
        (x, packed.int(), scale, zero, 3),
        (x, packed, scale, zero.int(), 3),
    ):
        with student.raises(RuntimeError):
            call("int4_linear", *args)


# --- Tasks 4 and 5: fakes, gradients ---------------------------------------------------------


def registered(student: Any) -> Any:
    given = student.given("operating")
    given.once(student.handle("register"))
    return given


def arguments(name: str, rows: int = 2) -> list[Any]:
    """Return arguments of an operator with 12 columns, the first of them a transposed view."""
    x = turned(torch.linspace(-2, 3, 12 * rows).view(rows, 12))
    return {
        "silu_mul": [x, x + 1],
        "silu_mul_backward": [x, x.contiguous() + 1, x - 1],
        "add_rms_norm": [x, x.contiguous(), torch.linspace(0, 1, 12), 0.1],
        "int4_linear": [x, *held(5, 12, 3), 3],
    }[name]


def form_of(name: str, device: str, dtype: str) -> Any:
    columns = 5 if name == "int4_linear" else 12
    one = [[2, columns], [columns, 1], f"torch.{dtype}", device]
    return [one, one] if name == "silu_mul_backward" else one


@task("fake", contract=13)
@pytest.mark.parametrize("name", [*SCHEMAS])
@pytest.mark.parametrize("symbolic", [False, True], ids=["sizes", "symbols"])
def test_fake(student, name, symbolic):
    """A fake is contiguous as the result is, lies where its arguments do, and reads no value."""
    ask = registered(student).faked

    for device in ("cpu", "cuda"):
        got = ask(NAME.format(name), arguments(name), symbolic, device)
        assert_equal(got, form_of(name, device, "float32"), FORM)


@task("fake", contract=13)
@pytest.mark.parametrize("name", [*SCHEMAS])
def test_fake_of_bfloat16(student, name):
    """A fake has the dtype of its arguments."""
    narrow = 1 if name == "int4_linear" else 3  # scales stay float32
    args = arguments(name)
    args[:narrow] = [each.bfloat16() for each in args[:narrow]]

    got = registered(student).faked(NAME.format(name), args, False)

    assert_equal(got, form_of(name, "cpu", "bfloat16"), FORM)


@task("fake", contract=14)
def test_one_graph(student):
    """torch.compile makes one graph of three nodes, and a second one for all other sizes."""
    names = ["silu_mul", "add_rms_norm", "int4_linear"]
    cases = [[arguments(name, rows) for name in names] for rows in (4, 5, 7)]

    got = registered(student).compiled([NAME.format(name) for name in names], cases)

    graphs = expect(two(got)[1], list[int], "operators of each graph")
    check(graphs in ([3], [3, 3]), f"graphs have {graphs} operators, expected [3] or [3, 3]")


@task("fake", contract=14)
@pytest.mark.parametrize("name", [*SCHEMAS])
def test_opcheck(student, name):
    """opcheck of torch finds nothing."""
    tests = ["test_schema", "test_faketensor", "test_aot_dispatch_dynamic"]

    got = registered(student).opcheck(NAME.format(name), arguments(name), [], tests)

    found = expect(got, list[str], "what opcheck finds")
    check(not found, f"opcheck of {name} says: {'; '.join(found)}")


@task("autograd", contract=15)
@pytest.mark.parametrize("wanted", [[0, 1], [0], [1]], ids=["both", "gate", "up"])
def test_gradients(student, wanted):
    """silu_mul has gradients for both inputs, or for the one that needs one."""
    got = registered(student).gradients(NAME.format("silu_mul"), [GATE, UP], wanted, turned(DY))

    want = gradients_of(DY, GATE, UP)
    for place, value in zip(wanted, expect(got, list, "gradients"), strict=True):
        assert_close(value, want[place], "backward", like=GATE)


@task("autograd", contract=15)
def test_input_that_is_used_twice(student):
    """Where one tensor is gate and up, both of its gradients count."""
    got = registered(student).gradient_of_square(NAME.format("silu_mul"), GATE, DY)

    assert_close(got, sum(gradients_of(DY, GATE, GATE)), "backward", like=GATE)


@task("autograd", contract=15)
def test_gradients_of_two_calls(student):
    """Two calls go forward before either of them goes back."""
    cases, upstreams = [[GATE, UP], [UP, DY]], [DY, GATE]

    got = registered(student).gradients_in_turn(NAME.format("silu_mul"), cases, upstreams)

    for values, case, upstream in zip(two(got), cases, upstreams, strict=True):
        for value, want in zip(two(values), gradients_of(upstream, *case), strict=True):
            assert_close(value, want, "backward", like=GATE)


@task("autograd", contract=16)
def test_codes_have_no_gradient(student, call):
    """The backward of int4_linear is a RuntimeError; its forward is not."""
    args = arguments("int4_linear")
    given = registered(student)

    got = call("int4_linear", *args)
    assert_close(got, product(*args), "matmul", like=args[0], inner=12)
    with student.raises(RuntimeError):
        given.gradients(NAME.format("int4_linear"), args, [0], torch.ones(2, 5))


# --- Task 6: on a GPU ------------------------------------------------------------------------


@task("cuda", contract=17)
def test_operators_on_a_gpu(student):
    """The first three operators give on a GPU what they give on a CPU, for 1001 elements."""
    dy, gate, up = torch.linspace(-3, 4, 3003).view(3, 7, 143)
    watched = student.watch(up.clone())  # all of its storage is compared
    ask = student.operator

    got = ask("torch.ops.inferlab15.silu_mul")(gate, up)
    both = two(ask("torch.ops.inferlab15.silu_mul_backward")(dy, gate, up))
    norm = ask("torch.ops.inferlab15.add_rms_norm")(gate, watched, dy[0], 0.5)

    assert_close(got, silu_mul(gate, up), "elementwise", like=gate)
    for value, want in zip(both, gradients_of(dy, gate, up), strict=True):
        assert_close(value, want, "backward", like=gate)
    assert_close(norm, normed(gate, up, dy[0], 0.5), "elementwise", like=gate)
    assert_written(watched, up + gate, "residual")


@task("cuda", contract=18)
def test_current_stream(student):
    """A kernel waits for what its stream has to do before it."""
    got = student.given("operating").on_another_stream(NAME.format("silu_mul"), [GATE, UP])

    values = expect(got, list[Tensor], "the result and the arguments")
    check(len(values) == 3, "silu_mul should return a tensor")
    assert_close(values[0], silu_mul(GATE, UP), "elementwise", like=GATE)
