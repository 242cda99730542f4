"""Triton in a real worker: kernels interpreted, compiled where there is a GPU, and counted."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.kernel_worker import fresh_student
from torch import Tensor

from grader.errors import Mismatch, NotGraded, StudentError
from grader.proxy.conversation.spot_checks import SPOT_CHECKS
from grader.proxy.student import Student
from grader.proxy.values.compare import resembles

SOURCE = (HERE / "stand_ins" / "kernels.py").read_text()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
BF16 = torch.bfloat16
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.99999, 3.3999e38, 1e-40, -1e-42]
TIES = [1.00390625, 1.01171875, -1.00390625, -1.01171875, 65504.0, 257.0]  # between bf16's values


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def shared(device: str) -> Iterator[Student]:
    with fresh_student(device, SOURCE) as made:
        yield made


@pytest.fixture
def student(shared: Student) -> Student:
    now = time.monotonic()
    shared.begin_(now + 120, now + 120, 0)
    return shared


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7)).to(dtype)


def same(got: Tensor, want: Tensor) -> bool:
    return got.dtype == want.dtype and bool(((got == want) | (got.isnan() & want.isnan())).all())


# -- the interpreter says what a GPU says ----------------------------------------------------


@pytest.mark.parametrize("kind", [BF16, torch.float16])
@pytest.mark.parametrize("shape", [(3, 5, 7), (33, 18, 50)])
def test_dot_multiplies_values(student: Student, kind: torch.dtype, shape: Any) -> None:
    rows, columns, inner = shape
    a, b = normal(rows, inner, dtype=kind), normal(inner, columns, dtype=kind)
    want = a.double() @ b.double() + 0.5

    got = student.matmul(a, b, torch.float32)

    assert (got.double() - want).abs().max() < 2e-5
    assert (student.matmul(a, b, BF16).double() - want).norm() / want.norm() < 3e-3


FLOATS = [torch.float32, torch.float16, BF16]


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", [*FLOATS, torch.int32])
def test_cast_rounds_to_nearest_even(
    student: Student, source: torch.dtype, target: torch.dtype
) -> None:
    values = [*TIES, *SPECIAL] if source.is_floating_point else [0, 1, -2, 257, 65503]
    x = torch.tensor([*values, *normal(500).mul(100).tolist()]).to(source)

    assert same(student.cast(x, target), x.to(target))


WANT = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x, _: -x,
    "constant": lambda x, _: x * 1.5,
    "maximum": torch.maximum,
    "python_max": torch.maximum,
    "select": torch.minimum,
    "count": lambda x, y: (x < y).to(x.dtype),
    "reduce_max": lambda x, _: x.max().expand(len(x)),
    "argmin": lambda x, _: x.argmin().to(x.dtype).expand(len(x)),
    "sort": lambda x, _: x.sort().values,
    "sum": lambda x, _: (x[0] + x[1]).expand(len(x)),
}


@pytest.mark.parametrize("kind", [BF16, torch.float32])
@pytest.mark.parametrize("which", WANT)
def test_arithmetic_is_of_values(student: Student, which: str, kind: torch.dtype) -> None:
    x, y = normal(2, 64, dtype=kind)

    got = student.binary(x, y, which)

    assert same(got, WANT[which](x, y))


def test_running_sum_of_bf16(student: Student) -> None:
    x = torch.arange(16).to(BF16)  # each partial sum is exact

    assert same(student.cumulate(x), x.cumsum(0))


@pytest.mark.parametrize("kind", [torch.float32, BF16])
def test_atomic_add_meets_the_same_place_again(student: Student, kind: torch.dtype) -> None:
    x, bins = torch.ones(50, dtype=kind), torch.arange(50) % 7

    got = student.histogram(x, bins, 7)

    assert same(got, torch.bincount(bins).to(kind))


@pytest.mark.parametrize("kind", [torch.float32, BF16])
def test_descriptors_cut_tiles_at_the_edge(student: Student, kind: torch.dtype) -> None:
    x = normal(10, 40, dtype=kind)

    assert same(student.tiles(x), x * 2)


LIBRARY = {
    "tanh": torch.tanh,
    "rsqrt": lambda x: (x * x + 1).rsqrt(),
    "erf": torch.erf,
    "pow": lambda x: (x * x + 1) ** 1.5,
    "scalar": lambda x: x.max().exp().expand(len(x)),
}


@pytest.mark.parametrize("which", LIBRARY)
def test_libdevice_computes(student: Student, which: str) -> None:
    x = normal(64)

    torch.testing.assert_close(student.library(x, which), LIBRARY[which](x))


def test_libdevice_says_what_it_cannot(device: str, student: Student) -> None:
    if device == "cpu":
        with pytest.raises(StudentError, match=r"libdevice\.j0 runs on a GPU only"):
            student.library(normal(64), "j0")
        with pytest.raises(StudentError, match=r"cast with \.to\(tl\.float32\)"):
            student.library(normal(64, dtype=BF16), "tanh")


@pytest.mark.parametrize("precision", ["ieee", "tf32x3", "bf16x3", "bf16x6"])
def test_dot_takes_every_precision(student: Student, precision: str) -> None:
    x = normal(16, 16)

    torch.testing.assert_close(student.square(x, precision), x @ x, rtol=1e-3, atol=1e-3)


def test_prints_show_numbers(device: str, student: Student) -> None:
    student.printed_()
    student.printing(torch.tensor([1.5, -2.0], dtype=BF16))

    if device == "cpu":
        lines = ["print [ 1.5 -2. ]", "(0, 0, 0)  device_print:  [ 1.5 -2. ]"]
        assert student.printed_().splitlines() == lines


def test_hidden_lanes_warn_of_nothing(student: Student) -> None:
    x = normal(3, 5)
    student.softmax(x)  # after it a GPU has told what earlier kernels print
    student.printed_()

    got = student.softmax(x)

    torch.testing.assert_close(got, x.softmax(1))
    assert student.printed_() == ""


def test_error_in_a_kernel_names_its_line(device: str, student: Student) -> None:
    with pytest.raises(StudentError, match="no_such_function") as caught:
        student.broken(torch.zeros(1))

    if device == "cpu":
        assert caught.value.kind == "AttributeError"
        assert [frame.function for frame in caught.value.frames] == ["broken", "broken_kernel"]
        assert "tl.no_such_function" in caught.value.frames[-1].source


# -- probes ----------------------------------------------------------------------------------


def test_launches_are_counted(student: Student) -> None:
    x = normal(150)

    with student.launches() as count:
        student.cast(x, BF16)
        student.cast(x, torch.float16)
    with student.launches() as none:
        pass
    student.cast(x, BF16)

    assert (count.total, none.total) == (2, 0)


@pytest.mark.parametrize("name", ["tuned", "chosen"])
def test_a_wrapped_kernel_counts_once(student: Student, name: str) -> None:
    x = normal(90)

    with student.launches() as count:
        got = getattr(student, name)(x)

    assert same(got, x * 2)
    assert count.total == 1


def test_what_is_only_compiled_is_no_launch(student: Student) -> None:
    with student.launches() as count:
        student.warmed(normal(9))

    assert count.total == 0


def test_torch_alone_launches_nothing(student: Student) -> None:
    with student.launches() as count, student.operators() as ops:
        student.spread(torch.ones(60))

    assert count.total == 0
    assert ops.seen["add"] == ops.seen["repeat"] == 600


@pytest.mark.parametrize(("name", "factor"), [("tuned", 3), ("chosen", 7)])
def test_silenced_kernels_do_not_run(student: Student, name: str, factor: int) -> None:
    x = normal(90) * factor  # memory that is not written may hold what another test left there

    with student.silenced() as count:
        silent = getattr(student, name)(x)
    got = getattr(student, name)(x)

    assert count.total >= 1
    assert not resembles(silent, x * 2)
    assert same(got, x * 2)


def test_kernels_are_no_operators(student: Student) -> None:
    with student.operators() as ops:
        student.cast(normal(90), BF16)

    assert ops.seen == {"empty_like": 90}


def test_torch_in_the_body_of_a_kernel_is_seen(device: str, student: Student) -> None:
    if device == "cuda":
        pytest.skip("a compiled kernel has no torch in it")
    x = normal(90)

    with student.operators() as ops:
        got = student.by_torch(x)

    assert same(got, x * 2)
    assert ops.seen["mul"] == 90


def test_peak_of_memory(device: str, student: Student) -> None:
    if device == "cpu":
        with pytest.raises(NotGraded), student.peak_memory():
            raise AssertionError("the block ran")
        return
    x = torch.ones(1 << 20)
    with student.peak_memory() as peak:
        student.spread(x)
    with student.peak_memory() as again:
        student.spread(x[: 1 << 10].clone())

    assert 21 * 4 << 20 <= peak.total < 23 * 4 << 20  # the argument, and ten times it twice
    assert again.total < 1 << 20


LIES = [None, -1, 1.0, True, "3", [3], {"sum": -1}, {"sum": 1.5}, {f"op{i}": 1 for i in range(999)}]


@pytest.mark.parametrize("value", LIES, ids=lambda value: str(value)[:12])
def test_a_reading_of_another_form_is_refused(lying: Student, value: Any) -> None:
    with contextlib.suppress(Mismatch), lying.operators():
        lying.lie(value)

    for probe in (lying.launches, lying.operators):
        with pytest.raises(Mismatch, match="could not be counted"), probe():
            pass


@pytest.fixture(scope="module")
def lying_worker() -> Iterator[Student]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SPOT_CHECKS, "tripwire", lambda *_args: None)  # which sees the change in it
        with fresh_student("cpu", SOURCE) as made:
            yield made


@pytest.fixture
def lying(lying_worker: Student) -> Student:
    now = time.monotonic()
    lying_worker.begin_(now + 60, now + 60, 0)
    return lying_worker
