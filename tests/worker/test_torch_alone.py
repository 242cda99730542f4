"""Arguments that torch's operators alone see: what they compute comes back, nothing else does."""

import time
from collections.abc import Iterator

import pytest
import torch
from stand_ins.expectation import HERE
from stand_ins.kernel_worker import fresh_student
from torch import Tensor

from grader.errors import Mismatch, StudentCrashed, StudentError
from grader.proxy.student import Student

SOURCE = (HERE / "stand_ins" / "columns.py").read_text()
FEW = 20  # numbers that may be told


@pytest.fixture(scope="module")
def shared() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        yield made


@pytest.fixture
def student(shared: Student) -> Student:
    now = time.monotonic()
    shared.begin_(now + 120, now + 120, 0)
    return shared


def drawn() -> Tensor:
    """Draw an argument, as a view of something larger."""
    return (torch.randn(3, 9, 10) * 3)[1, 1:8]


def ask(student: Student, name: str) -> None:
    x = drawn()
    with student.torch_alone(numbers=FEW):
        got = getattr(student, name)(student.veil(x))
        near = torch.allclose(got, x.square().sum(0), rtol=1e-4)
        if not near:
            raise Mismatch("the sums are wrong")


HONEST = [
    *("plain", "product", "into_a_buffer", "in_place", "written_into_slices", "kept_in_a_list"),
    *("scaled_by_an_item", "branching", "in_inference_mode", "with_gradients", "by_a_function"),
    *("in_a_module", "masked", "vectorised", "scripted"),
]


@pytest.mark.parametrize("name", HONEST)
def test_what_torch_computes_comes_back(student: Student, name: str) -> None:
    ask(student, name)


AROUND = [
    *("numpy", "asarray", "saved_method", "tolist", "items", "floats", "pointer", "string"),
    *("storage", "dlpack", "saved", "numpys_memory", "own_memory", "a_bytearray", "outs", "text"),
    *("freed_memory", "own_operator", "own_decorated", "torchs_operator", "subclass"),
    *("in_another_thread", "without_modes", "collector", "memory_as_a_file"),
]


@pytest.mark.parametrize("name", AROUND)
def test_what_leaves_torch_is_noise(student: Student, name: str) -> None:
    with pytest.raises(Mismatch, match="torch's operators alone could read the numbers"):
        ask(student, name)


@pytest.mark.parametrize("name", sorted({*AROUND} - {"freed_memory", "subclass"}))
def test_in_the_open_it_is_right(student: Student, name: str) -> None:
    x = drawn()

    assert torch.allclose(getattr(student, name)(x), x.square().sum(0), rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("numpy", "numpy of 70 elements; 20 numbers may leave them"),
        ("tolist", "tolist of 70 elements"),
        ("items", "numbers, one by one, of 50 elements"),
        ("own_operator", "columns.squares of 70 elements"),
    ],
)
def test_doors_are_told(student: Student, name: str, told: str) -> None:
    with pytest.raises(Mismatch, match=told):
        ask(student, name)


@pytest.mark.parametrize("name", ["asks_the_probe", "ends_the_probe", "reads_the_link"])
def test_the_probe_tells_nobody_else(student: Student, name: str) -> None:
    with pytest.raises((Mismatch, StudentError)):
        ask(student, name)


def test_it_ends_with_its_block(student: Student) -> None:
    with pytest.raises(Mismatch):
        ask(student, "numpy")
    x = drawn()

    assert torch.allclose(student.numpy(x), x.square().sum(0), rtol=1e-4)


@pytest.mark.parametrize("name", ["plain", "counted_down"])
def test_what_is_done_with_hidden_numbers_counts(student: Student, name: str) -> None:
    x = drawn()
    rows, width = x.shape
    with student.torch_alone():
        with student.flops() as flops, student.largest_tensor() as largest:
            with student.operators() as operators:
                got = getattr(student, name)(student.veil(x))
        assert torch.allclose(got, x.square().sum(0), rtol=1e-4)

    most = rows * width * (1 if name == "plain" else width)
    assert (flops.total, largest.elements) == (2 * most, most)
    assert operators.seen["mul"] == operators.seen["sum"] == most


def test_counts_begin_and_end_with_their_blocks(student: Student) -> None:
    x = drawn()
    with student.torch_alone():
        hidden = student.counted_down(student.veil(x))
        with student.flops() as first:
            student.plain(student.veil(x))
        student.counted_down(student.veil(x))
        with student.flops() as second:
            pass

    assert torch.allclose(hidden, x.square().sum(0), rtol=1e-4)
    assert (first.total, second.total) == (2 * x.numel(), 0)


def test_counts_go_on_after_a_watch_that_a_crash_has_ended(student: Student) -> None:
    with pytest.raises(StudentCrashed), student.torch_alone(), student.flops():
        student.ends(student.veil(drawn()))
    student.retire_()

    now = time.monotonic()
    student.begin_(now + 120, now + 120, 0)
    with student.flops() as count:
        student.product(drawn())

    assert count.total > 0
