"""A GPU that is busy, full or lost is our trouble: ``infra`` or no grading at all, never a zero."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.isolation import require_sandbox

from grader.errors import CannotGrade
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.results import Report
from grader.sandbox.confinement import gpu

LAB = expectation.find(expectation.SPEED)
RIGHT = expectation.CLOCK / "right_baseline.py"
BUSY = """
import torch
a = torch.randn(4096, 4096, device="cuda")
print("ready", flush=True)
while True:
    a = torch.mm(a, a).tanh_()
"""
FULL = """
import torch, time
free, _ = torch.cuda.mem_get_info()
kept = torch.empty(int(free * 0.9), dtype=torch.uint8, device="cuda")
print("ready", flush=True)
time.sleep(600)
"""
RAISING = """
import torch

def softmax(x):
    raise RuntimeError("CUDA error: unspecified launch failure")
"""

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    require_sandbox()
    monkeypatch.setattr(gpu, "PATIENCE_SECONDS", 2.0)


@contextmanager
def beside(program: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"ready\n"
            yield
        finally:
            other.kill()


def verdicts(report: Report, task: str) -> str:
    return expectation.summary(report, task)


def test_busy_gpu_gives_infra() -> None:
    with beside(BUSY):
        report = grade(Request(LAB, RIGHT, device="cuda"))

    assert verdicts(report, "right") == "passed"
    assert verdicts(report, "speed") == "passed infra"
    assert report.exit_code == 3
    assert any("the GPU is busy" in test.message for test in report.tests)


def test_full_gpu_is_not_graded_on() -> None:
    with beside(FULL), pytest.raises(CannotGrade, match="MiB are free"):
        grade(Request(LAB, RIGHT, device="cuda"))


def test_gpu_that_is_not_there_is_not_graded_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "63")

    with pytest.raises(CannotGrade):
        grade(Request(LAB, RIGHT, device="cuda"))


def test_error_of_the_submission_stays_its_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(RAISING)

    report = grade(Request(LAB, tmp_path / "own.py", device="cuda"))

    assert verdicts(report, "right").startswith("error")


def test_error_beside_a_gpu_that_got_lost_is_infra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(RAISING)
    smi = tmp_path / "nvidia-smi"
    # It answers until the first worker has run, as a GPU does that is lost on the way.
    smi.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/asked ] && echo 'GPU is lost' && exit 15\n"
        f"case $* in *compute-apps*) touch {tmp_path}/asked;; esac\n"
        "echo 'A GPU, 1, 1, 1, 1, 1, 1, 90, 100'\n"
    )
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    report = grade(Request(LAB, tmp_path / "own.py", device="cuda"))

    assert verdicts(report, "right").startswith("infra")
    assert report.exit_code == 3
