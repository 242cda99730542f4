"""A crash in a kernel is told by its line and its tensor, not by a signal alone."""

from pathlib import Path
from typing import Any, cast

import pytest
from stand_ins.expectation import find

from grader.errors import Mismatch, StudentCrashed, StudentTimeout, SubmissionFault
from grader.judge.grade import grade
from grader.judge.plugin.aftermath import MOST_TESTS, Aftermath
from grader.judge.setup.configuration import Run
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.results import Verdict
from grader.proxy.student import Student

LAYERNORM = find("06_layernorm")
READ = "tl.load(x + row * stride + columns"
FAR = READ.replace("stride", "stride * 100000000")


def test_a_crash_is_told_by_the_line_of_the_kernel(tmp_path: Path, sessions: ForkServer) -> None:
    text = (LAYERNORM.solutions / LAYERNORM.code_name).read_text()
    assert READ in text
    answer = tmp_path / LAYERNORM.code_name
    answer.write_text(text.replace(READ, FAR))
    request = Request(
        *(LAYERNORM, answer, "cpu", 5, "none", "public"),
        tasks=("forward",),
        until_lost=True,
    )

    report = grade(request, start=sessions)

    crashed = [test for test in report.tests if test.verdict is Verdict.CRASHED]
    lines = crashed[0].message.splitlines()
    assert lines[2] == "the process was ended by SIGSEGV"
    assert any("return " + FAR in line for line in lines)
    assert "outside: Program 0 leaves every tensor" in lines[-1]
    assert crashed[0].function == "layer_norm_forward"


class Unasked(Student):
    """A student that counts how often a test begins, and follows nothing."""

    def __init__(self) -> None:
        self.begun = 0

    def begin_(self, *_: Any) -> None:
        self.begun += 1

    def sanitized(self, order: str = "", seed: int = 0) -> Any:
        raise Mismatch("a worker that cannot be had")


def after(error: BaseException, lab: str = "06_layernorm", device: str = "cpu") -> Unasked:
    """Return what was asked of a student after a test had ended so, three times."""
    student = Unasked()
    aftermath = Aftermath(Run(find(lab), 1, device), student)
    item = cast(pytest.Item, None)
    assert [aftermath.told(item, error) for _ in range(MOST_TESTS + 1)] == [""] * 3
    return student


@pytest.mark.parametrize("fault", [Mismatch("off"), StudentTimeout("late"), RuntimeError("ours")])
def test_nothing_but_a_crash_is_looked_at_again(fault: Exception) -> None:
    assert after(fault).begun == 0


def test_so_many_crashes_are_looked_at_and_what_fails_then_is_not_told() -> None:
    assert after(StudentCrashed("gone")).begun == MOST_TESTS


@pytest.mark.parametrize(("lab", "device"), [("05_kv_cache", "cpu"), ("06_layernorm", "cuda")])
def test_where_no_kernel_is_interpreted_nothing_is_followed(lab: str, device: str) -> None:
    fault: SubmissionFault = StudentCrashed("gone")

    assert after(fault, lab, device).begun == 0
