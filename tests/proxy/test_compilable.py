"""Kernels that no GPU takes fail a test, each at its line; this machine's faults fail nobody."""

from collections.abc import Iterator

import pytest
import torch
from stand_ins.kernel_worker import fresh_student

from grader.errors import JudgeError, Mismatch
from grader.proxy.instruments import compiler
from grader.proxy.student import Student

SOURCE = """
import torch
import triton
import triton.language as tl

ONE = 1.0


@triton.jit
def _double(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def _add_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, ONE + tl.load(x + at, mask=at < n), mask=at < n)


def _made_late(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, ONE + tl.load(x + at, mask=at < n), mask=at < n)


def launch(kernel, x):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, x.numel(), BLOCK=64)
    return y


def double(x):
    return launch(_double, x)


def add_one(x):
    return launch(_add_one, x)


def add_one_late(x):
    return launch(triton.jit(_made_late), x)


double(torch.ones(3))  # as a file that warms its kernels up
"""
ENDS = 'import os\n\nif "TRITON_INTERPRET" not in os.environ:\n    os._exit(3)\n'


@pytest.fixture(scope="module")
def student() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        yield made


def test_kernel_that_compiles_passes(student: Student) -> None:
    with student.compilable_kernels("sm_80", "sm_90"):
        got = student.double(torch.ones(3))

    assert torch.equal(got, torch.full((3,), 2.0))


def test_what_the_interpreter_alone_takes_fails_at_its_line(student: Student) -> None:
    with pytest.raises(Mismatch) as failed, student.compilable_kernels("sm_80", "sm_90"):
        student.add_one(torch.ones(3))

    first, place, why = str(failed.value).splitlines()
    assert "no GPU would" in first
    source = "tl.store(y + at, ONE + tl.load(x + at, mask=at < n), mask=at < n)"
    assert place == f"  line {1 + SOURCE.splitlines().index('    ' + source)}: {source}"
    assert "Cannot access global variable ONE" in why
    assert why.endswith(" (sm_80, sm_90)")


def test_kernel_that_the_file_alone_does_not_make_is_let_pass(student: Student) -> None:
    with student.compilable_kernels("sm_90"):
        student.add_one_late(torch.ones(3))


def test_kernel_that_takes_the_compiler_long_is_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh_student("cpu", SOURCE) as student:
        student.double(torch.ones(3))  # the submission is loaded
        monkeypatch.setattr(compiler, "SECONDS", 0.01)
        for _ in range(2):
            with student.compilable_kernels("sm_90"):
                student.add_one(torch.ones(3))


def test_in_recorded_launches_nothing_is_compiled(student: Student) -> None:
    with student.recorded() as recorded, student.compilable_kernels("sm_90"):
        student.add_one(torch.ones(3))

    assert [launch["kernel"] for launch in recorded.launches] == ["_add_one"]


def test_launches_that_are_one_to_triton_have_the_same_figures(student: Student) -> None:
    with student.recorded() as recorded:
        student.double(torch.ones(4))
        student.double(torch.ones(8))
    made = student.compiler_()
    try:
        first, second = (made.compile(launch, "sm_90") for launch in recorded.launches)
    finally:
        made.close()

    assert first == second
    assert first.registers > 0


def test_where_our_own_kernel_does_not_compile_the_machine_is_at_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = compiler.CONTROL.replace("tl.arange(0, BLOCK)", "[0 for _ in range(2)]")
    monkeypatch.setattr(compiler, "CONTROL", broken)

    with (
        fresh_student("cpu", SOURCE) as student,
        pytest.raises(JudgeError, match="no kernel can be compiled for sm_90 on this machine"),
        student.compilable_kernels("sm_90"),
    ):
        student.add_one(torch.ones(3))


def test_file_that_ends_where_kernels_are_compiled_fails() -> None:
    with (
        fresh_student("cpu", ENDS + SOURCE) as student,
        pytest.raises(Mismatch, match="ended itself with status 3"),
        student.compilable_kernels("sm_90"),
    ):
        student.double(torch.ones(3))
