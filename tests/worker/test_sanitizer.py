"""The sanitizer on kernels that are right, and on those that are wrong in ways of students.

They run in a process of their own: Triton is told once whether to interpret.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stand_ins.beside import hear
from stand_ins.expectation import HERE
from stand_ins.kernel_cases import ORDERS, Case, cases
from stand_ins.kernel_worker import fresh_student

from grader.errors import Mismatch, StudentError, Unsound
from grader.proxy.instruments.mistakes import INTRODUCTION
from grader.proxy.student import Student

RIGHT, WRONG = [*cases("right"), *cases("answers")], [*cases("wrong")]
KINDS = (
    *("write-write", "same value", "read-write", "outside", "unwritten", "masked"),
    *("overflow", "too large", "waits", "grid", "order"),
)
Runs = dict[tuple[str, str], dict[str, Any]]

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def _racy(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    tl.store(total, tl.load(total) + part)


@triton.jit
def _atomic(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def racy(x):
    total = torch.zeros(1)
    _racy[(4,)](x, total, x.numel(), BLOCK=16)
    return total


def atomic(x):
    total = torch.zeros(1)
    _atomic[(4,)](x, total, x.numel(), BLOCK=16)
    return total


@triton.jit
def _firsts(x, out, stride, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) if WIDE else tl.program_id(0)
    tl.store(out + row, tl.load(x + row * stride))


def firsts(x, wide):
    out = torch.empty(len(x))
    _firsts[(len(x),)](x, out, x.stride(0), WIDE=wide)
    return out


def last_of_many(x, axis):
    grid = [1, 1, 1]
    grid[axis] = len(x)
    _firsts[tuple(grid)](x, torch.empty(1), x.stride(0), WIDE=True)
    return x[-1]
"""
LINE = 1 + SOURCE.splitlines().index("    tl.store(total, tl.load(total) + part)")


def named(case: Case) -> str:
    return case.name


@pytest.fixture(scope="module")
def runs() -> Runs:
    command = [sys.executable, str(HERE / "run_sanitizer.py"), "--json"]
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent}:{HERE}"}
    text = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout
    read = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(run["name"], run["order"]): run for run in read}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", RIGHT, ids=named)
def test_right_kernel_raises_no_alarm(runs: Runs, case: Case, order: str) -> None:
    run = runs[case.name, order]

    assert run["found"] == []
    assert run["wrong"] == ""


@pytest.mark.parametrize("case", WRONG, ids=named)
def test_wrong_kernel_is_found_at_its_line(runs: Runs, case: Case) -> None:
    found = {(kind, line) for kind, line in runs[case.name, case.order]["found"]}

    assert case.expected
    assert found == case.expected


@pytest.mark.parametrize("kind", KINDS)
def test_three_wrong_kernels_at_least_are_of_each_kind(kind: str) -> None:
    assert sum(kind in {found for found, _ in case.expected} for case in WRONG) >= 3


def test_a_python_without_the_other_sanitizer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert hear(Path(sys.executable), ["right"]) == {}

    assert "cannot import triton-viz: its column is left out" in capsys.readouterr().err


# -- in a worker -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def student() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        now = time.monotonic()
        made.begin_(now + 120, now + 120, 0)
        yield made


def test_worker_tells_what_it_found(student: Student) -> None:
    with student.sanitized() as reading:
        student.racy(torch.ones(60))

    assert {(item.kind, item.line) for item in reading.found} == {
        ("read-write", LINE),
        ("write-write", LINE),
    }
    assert "Program 1 writes total[0], which program 0 has written" in reading.found[1].text
    assert reading.found[1].count == 3
    assert not reading.partial


def test_what_an_atomic_does_is_no_race(student: Student) -> None:
    with student.sanitized("shuffled", seed=4) as reading:
        got = student.atomic(torch.ones(60))

    assert got.item() == 60
    assert reading.found == []


def test_kernels_that_race_are_not_sound(student: Student) -> None:
    with pytest.raises(Mismatch) as told, student.sound_kernels("reversed"):
        student.racy(torch.ones(60))

    introduction, line, *mistakes = str(told.value).splitlines()
    assert introduction == INTRODUCTION
    assert line == f"  line {LINE}: {SOURCE.splitlines()[LINE - 1].strip()}"
    assert [mistake.split(": ")[0] for mistake in mistakes] == ["    read-write", "    write-write"]


def test_kernels_that_are_ordered_are_sound(student: Student) -> None:
    with student.sound_kernels():
        got = student.atomic(torch.ones(60))

    assert got.item() == 60


def test_rows_gigabytes_apart_are_read_where_they_are(student: Student) -> None:
    x = torch.arange(15.0).reshape(5, 3)

    with student.sound_kernels():
        got = student.firsts(student.far(x, 1 << 29, 1), True)

    assert torch.equal(got, x[:, 0])


def test_row_times_stride_in_int32_is_not_sound(student: Student) -> None:
    x = torch.arange(15.0).reshape(5, 3)

    with pytest.raises(Unsound, match="overflow: An offset in int32"), student.sound_kernels():
        student.firsts(student.far(x, 1 << 29, 1), False)


def test_what_is_found_counts_though_results_are_wrong_too(student: Student) -> None:
    def compared() -> None:
        with student.sound_kernels():
            student.racy(torch.ones(60))
            raise Mismatch("a value is wrong")

    with pytest.raises(Unsound, match="write-write"):
        compared()


@pytest.mark.parametrize("axis", [1, 2])
def test_grid_that_no_gpu_takes_is_found_where_no_program_runs(student: Student, axis: int) -> None:
    many = torch.ones(1).expand(65_536)

    with student.grids_alone():
        assert student.last_of_many(many, 0) == 1
        student.last_of_many(many[1:], axis)
    with pytest.raises(Unsound, match=f"65,536 programs on axis {axis}"), student.grids_alone():
        student.last_of_many(many, axis)


def test_grid_that_no_gpu_takes_raises_in_the_interpreter(student: Student) -> None:
    with pytest.raises(StudentError, match="a GPU takes 65,535 at most"):
        student.last_of_many(torch.ones(1).expand(65_536), 1)


@pytest.mark.parametrize("inner", ["decoys", "sanitized"])
def test_does_not_run_beside_decoys(student: Student, inner: str) -> None:
    both = [student.sanitized(), student.decoys(0)]
    first, second = both if inner == "decoys" else reversed(both)

    with pytest.raises(RuntimeError, match="at one time"), first, second:
        pass
    assert student.racy(torch.ones(60)).item() == 60
