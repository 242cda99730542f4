"""Arguments that kernels alone see: what they compute comes back, what else computes does not."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.kernel_worker import fresh_student
from torch import Tensor

from grader.errors import Mismatch, StudentError
from grader.proxy.student import Student
from grader.proxy.values.compare import resembles
from grader.timing.silence import assert_kernels_alone_compute

SOURCE = (HERE / "stand_ins" / "doubled.py").read_text()
FEW = 20  # elements on which torch may compute: two rows of an argument


@pytest.fixture(scope="module")
def shared() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        yield made


@pytest.fixture
def student(shared: Student) -> Student:
    now = time.monotonic()
    shared.begin_(now + 120, now + 120, 0)
    return shared


def drawn(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Draw an argument and its decoy, as a view of something larger."""
    both = torch.randn(2, 9, 7, 10) * 10
    return both[0, 1:8, :].reshape(49, 10)[:7].to(dtype), both[1, 0].to(dtype)


def hidden(
    student: Student, name: str, true: Tensor, decoy: Tensor, *, led: bool = True
) -> tuple[Any, list[str]]:
    with student.decoys(FEW, ("sum",), led=led) as shadow:
        got = getattr(student, name)(student.hide(true, decoy))
    assert not shadow.fault
    return got, shadow.notes


WAYS = [
    *("plain", "moved", "in_inference_mode", "summed", "a_little", "into_a_buffer"),
    *("through_a_buffer_of_numpy", "with_a_table", "of_two_tensors", "by_atomics", "by_exchange"),
    *("printing", "as_an_operator"),
]


@pytest.mark.parametrize("name", WAYS)
def test_what_kernels_compute_comes_back(student: Student, name: str) -> None:
    true, decoy = drawn()

    got, notes = hidden(student, name, true, decoy)
    plain = getattr(student, name)(true)

    assert torch.equal(got, true * 2)
    assert torch.equal(plain, got)
    assert not notes


OUTSIDE = [
    *("by_torch", "on_a_copy", "by_pieces", "by_a_sum_of_the_argument", "by_numpy", "by_python"),
    *("by_items", "by_a_product", "into_the_result", "by_an_operator"),
]
INSIDE = ["in_the_body", "from_a_block", "from_integers"]  # of a kernel, as Python


# As on a GPU, where nobody is in a kernel's body.


@pytest.mark.parametrize("name", WAYS)
def test_what_kernels_compute_comes_back_by_exchange(student: Student, name: str) -> None:
    true, decoy = drawn()

    got, notes = hidden(student, name, true, decoy, led=False)
    plain = getattr(student, name)(true)

    assert torch.equal(got, true * 2)
    assert torch.equal(plain, got)
    assert not notes


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_else_computes_does_not_by_exchange(student: Student, name: str) -> None:
    true, decoy = drawn()

    got, _ = hidden(student, name, true, decoy, led=False)

    assert not resembles(got, true * 2)


def test_sums_of_bfloat16_are_led_too(student: Student) -> None:
    true, decoy = drawn(torch.bfloat16)

    got, _ = hidden(student, "by_atomics", true, decoy)

    assert torch.equal(got, true * 2)


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_else_computes_does_not(student: Student, name: str) -> None:
    true, decoy = drawn()

    got, _ = hidden(student, name, true, decoy)
    plain = getattr(student, name)(true)

    assert not resembles(got, true * 2)
    assert resembles(plain, true.double() * 2)


@pytest.mark.parametrize("name", INSIDE)
def test_python_in_a_kernel_is_not_run(student: Student, name: str) -> None:
    true, decoy = drawn()

    with pytest.raises(Mismatch, match=r"by its text alone, .* \(line \d+\)"):
        hidden(student, name, true, decoy)
    plain = getattr(student, name)(true)

    assert resembles(plain, true.double() * 2)


@pytest.mark.parametrize(("name", "note"), [("by_torch", "torch's mul"), ("by_items", "item")])
def test_what_was_used_instead_is_told(student: Student, name: str, note: str) -> None:
    _, notes = hidden(student, name, *drawn())

    assert note in notes


def test_memory_holds_decoys_alone(student: Student) -> None:
    true, decoy = drawn()

    (seen, written), _ = hidden(student, "found", true, decoy)

    assert seen == pytest.approx(float(decoy.sum()))
    assert written != pytest.approx(float(true.abs().sum()))


def test_no_kernel_writes_where_no_tensor_is(student: Student) -> None:
    with pytest.raises(StudentError, match="memory of no tensor"):
        hidden(student, "to_numpy", *drawn())


@pytest.mark.parametrize("name", ["odd_repeats", "odd_places"])
def test_numbers_that_decide_about_forms_are_no_fault_of_ours(student: Student, name: str) -> None:
    true = torch.full((2, 5), 90.0)

    got, _ = hidden(student, name, true, torch.full((2, 5), 3.0))

    assert torch.equal(got, torch.ones(15) if name == "odd_repeats" else torch.zeros(5))


def test_triton_is_afterwards_as_it_was(student: Student) -> None:
    true, decoy = drawn()

    hidden(student, "plain", true, decoy)
    got = [student.from_a_block(true), student.from_integers(true), student.plain(decoy)]

    for result, want in zip(got, (true, true, decoy), strict=True):
        assert resembles(result, want.double() * 2)


def ask(student: Student, name: str, factor: float = 2.0) -> None:
    assert_kernels_alone_compute(
        student,
        getattr(student, name),
        lambda: drawn()[:1],
        lambda x: [x.double() * factor],
        "y",
        elements=0,
    )


def test_a_result_from_elsewhere_fails(student: Student) -> None:
    ask(student, "plain")
    with pytest.raises(Mismatch, match=r"y: wrong where .* \(used outside of them: torch's mul\)"):
        ask(student, "by_torch")


def test_what_is_wrong_anyway_is_left_to_other_tests(student: Student) -> None:
    ask(student, "by_torch", factor=3.0)


def test_who_knows_decoys_gains_nothing(student: Student) -> None:
    with pytest.raises(Mismatch, match="no Triton kernel was launched on what the call was given"):
        ask(student, "on_guard")
