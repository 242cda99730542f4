"""An exception of ours after a value came: the model answer takes the test again, and decides."""

import shutil
from pathlib import Path

import pytest
from stand_ins.expectation import COURSE
from stand_ins.isolation import require_sandbox

from grader.judge.grade import grade
from grader.judge.setup.log import NAME
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report

SUITE = '''
import torch
from grader.suite import task

SEEN = []

def ids(student, *numbers):
    return student.scale(torch.tensor([float(n) for n in numbers]), 2.0).tolist()

@task("scale")
def test_table(student):
    """Each number is doubled."""
    table = {2.0: "a hidden word", 4.0: "another"}
    assert [table[got] for got in ids(student, 1, 2)]

@task("scale")
def test_same_draw(student, draw):
    SEEN.append(draw.normal(3).tolist())
    got = student.scale(torch.tensor(SEEN[-1]), 2.0)
    assert len(SEEN) == 1 or SEEN[0] == SEEN[1], "the retrial draws something else"
    {0.0: 0}[float(got[0]) / SEEN[-1][0] - 2.0]

@task("scale")
def test_broken(student):
    ids(student, 1)
    {}["a hidden word"]

@task("scale")
def test_broken_before_any_value(student):
    {}["a hidden word"]

@task("scale")
def test_wrong_for_the_model_too(student):
    got = ids(student, 1)
    {4.0: 1}[got[0]]

@task("scale")
def test_goes_on(student):
    assert ids(student, 3) in ([6.0], [9.0])
'''
ANSWER = """
import torch

def scale(x, factor):
    return x * (factor + 1)
"""


def course(folder: Path) -> Lab:
    root = shutil.copytree(COURSE, folder / "course", ignore=shutil.ignore_patterns(".inferlab"))
    (root / "grader" / "suites" / "test_90_echo.py").write_text(SUITE)
    (root / "labs" / "90_echo" / "test_echo.py").unlink()
    (folder / "answer.py").write_text(ANSWER)
    return load_lab(root / "labs" / "90_echo")


def graded(lab: Lab, source: Path) -> Report:
    return grade(Request(lab, source, device="cpu", seed=5, sandbox="required", tasks=("scale",)))


def verdicts(report: Report) -> dict[str, str]:
    return {t.id: t.verdict.value for t in report.tests if t.suite == "hidden"}


@pytest.fixture(autouse=True)
def _confined() -> None:
    require_sandbox()


def test_the_model_answer_says_whose_fault_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lab = course(tmp_path)

    report = graded(lab, tmp_path / "answer.py")

    assert verdicts(report) == {
        "test_table": "failed",
        "test_same_draw": "failed",
        "test_broken": "infra",
        "test_broken_before_any_value": "infra",
        "test_wrong_for_the_model_too": "infra",
        "test_goes_on": "passed",
    }
    said = {t.id: t.message for t in report.tests}
    assert said["test_table"] == (
        "Each number is doubled.\ncall: scale(float32[2], 2.0)\n"
        "the test cannot go on with what the code gave; "
        "the last that came is a float32 tensor of shape [2]"
    )
    assert said["test_broken"] == f"the judge failed with KeyError; {NAME} says where"
    printed = "".join(capfd.readouterr())
    assert "Traceback" not in printed
    assert "hidden word" not in printed
    assert "a hidden word" not in str(report.to_json())
    log = lab.root / NAME
    assert log.read_text().count("Traceback") == 5
    assert log.stat().st_mode & 0o777 == 0o600


def test_without_a_model_answer_a_value_that_came_decides(tmp_path: Path) -> None:
    lab = course(tmp_path)
    shutil.rmtree(lab.root / "solutions")

    assert verdicts(graded(lab, tmp_path / "answer.py")) == {
        "test_table": "failed",
        "test_same_draw": "failed",
        "test_broken": "failed",
        "test_broken_before_any_value": "infra",
        "test_wrong_for_the_model_too": "failed",
        "test_goes_on": "passed",
    }


def test_what_the_submission_has_left_running_is_gone_first(tmp_path: Path) -> None:
    """Its processes would hold up the model answer until that is late, which would be infra."""
    lab = course(tmp_path)
    spins = f"""{ANSWER}
import os
for _ in range(6):
    if not os.fork():
        while True:
            pass
"""
    (tmp_path / "answer.py").write_text(spins)

    found = verdicts(graded(lab, tmp_path / "answer.py"))

    assert found["test_table"] == found["test_same_draw"] == "failed"
