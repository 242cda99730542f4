"""Kernels compiled for GPUs from recorded launches, in workers as a grading has them."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from stand_ins.kernel_worker import fresh_student

from grader.errors import StudentError
from grader.labs.compiled import Compiled
from grader.proxy.instruments.compiler import Compiler
from grader.proxy.student import Student

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def _copy(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def _product(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def _read(x, inside):
    return tl.load(x, mask=inside, other=0.0)


@triton.jit
def _wrong_mask(x, y, n):
    tl.store(y, _read(x, n))


@triton.jit
def _first_of_many(n):
    held = [1.0 for _ in range(2)]
    return held[0]


@triton.jit
def _listed(x, n):
    tl.store(x, _first_of_many(n))


def _made_late(x):
    tl.store(x, 1.0)


def copy(x):
    y = torch.empty_like(x)
    _copy[(4,)](x, y, x.numel(), BLOCK=1024, num_warps=4)
    return y


def product(a):
    out = torch.empty(64, 64)
    _product[(1,)](a, a, out, N=64)
    return out


def wrong_mask(x):
    y = torch.empty_like(x)
    _wrong_mask[(1,)](x, y, 1)
    return y


def listed(x):
    _listed[(1,)](x, 1)
    return x


def late(x):
    triton.jit(_made_late)[(1,)](x)
    return x


def broken(x):
    copy(x)
    raise ValueError("after a launch")
"""


def line_of(text: str) -> int:
    return 1 + SOURCE.splitlines().index(text)


@pytest.fixture(scope="module")
def student() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        now = time.monotonic()
        made.begin_(now + 300, now + 300, 0)
        yield made


@pytest.fixture(scope="module")
def compiler(student: Student) -> Iterator[Compiler]:
    made = student.compiler_()
    yield made
    made.close()


def launches(student: Student, name: str, x: torch.Tensor) -> list[dict[str, Any]]:
    with student.recorded() as recorded:
        getattr(student, name)(x)
    return recorded.launches


def made(student: Student, compiler: Compiler, name: str, x: Any, target: str) -> Compiled:
    (launch,) = launches(student, name, x)
    return compiler.compile(launch, target)


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "gfx942"])
def test_aligned_copy_loads_16_bytes_at_a_time(
    student: Student, compiler: Compiler, target: str
) -> None:
    got = made(student, compiler, "copy", torch.ones(4096), target)

    assert (got.error, got.spills, got.warps, got.dot, got.matrix) == ("", 0, 4, False, ())
    assert {*got.loads} == {16}
    assert got.registers > 0
    assert got.line == line_of("def _copy(x, y, n, BLOCK: tl.constexpr):")


def test_copy_from_an_odd_address_loads_one_element_at_a_time(
    student: Student, compiler: Compiler
) -> None:
    got = made(student, compiler, "copy", torch.ones(4097)[1:], "sm_90")

    assert {*got.loads} == {4}


@pytest.mark.parametrize(
    ("target", "matrix"),
    [("sm_80", "mma.sync"), ("sm_90", "wgmma.mma_async"), ("gfx942", "mfma")],
)
def test_product_of_halves_is_done_by_tensor_cores(
    student: Student, compiler: Compiler, target: str, matrix: str
) -> None:
    got = made(student, compiler, "product", torch.ones(64, 64, dtype=torch.float16), target)

    assert (got.error, got.dot, got.matrix) == ("", True, (matrix,))
    assert got.shared > 0


def test_error_in_a_function_that_a_kernel_calls_is_at_its_line(
    student: Student, compiler: Compiler
) -> None:
    got = made(student, compiler, "listed", torch.ones(1), "sm_90")

    assert got.line == line_of("    held = [1.0 for _ in range(2)]")
    assert got.error == "only tuple comprehensions are supported"


def test_error_of_a_later_pass_is_at_its_line(student: Student, compiler: Compiler) -> None:
    with pytest.raises(StudentError), student.recorded() as recorded:
        student.wrong_mask(torch.ones(1))

    got = compiler.compile(recorded.launches[0], "sm_90")

    assert got.line == line_of("    return tl.load(x, mask=inside, other=0.0)")
    assert "1-bit" in got.error


def test_kernel_that_is_made_late_is_said_to_be(student: Student, compiler: Compiler) -> None:
    got = made(student, compiler, "late", torch.ones(1), "sm_90")

    assert "top level" in got.error


def test_equal_launches_are_told_once_and_those_before_a_fault_too(student: Student) -> None:
    with student.recorded() as recorded:
        student.copy(torch.ones(64))
        student.copy(torch.ones(64))
        student.copy(torch.ones(65))
    assert [launch["kernel"] for launch in recorded.launches] == ["_copy", "_copy"]

    with pytest.raises(StudentError), student.recorded() as recorded:
        student.broken(torch.ones(64))
    assert [launch["kernel"] for launch in recorded.launches] == ["_copy"]
