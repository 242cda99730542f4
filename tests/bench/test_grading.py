"""An account of a grading is whole: what it names adds up to the time that passed."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.expectation import HERE

from bench import grading
from bench.grading import OUTSIDE, account, render
from grader.judge.listener import OnEvent
from grader.judge.setup.request import Request
from grader.labs.lab import find_lab
from grader.labs.results import Report, TestResult, Verdict
from grader.proxy.conversation.spent import CALLS, FIRST_CALLS, JUDGE
from grader.report.formats.terminal import make_console


@pytest.fixture(scope="module")
def found():
    lab = find_lab("3", HERE.parent)
    return account(lab, lab.solutions, "cpu")


def test_kinds_add_up_to_the_grading(found) -> None:
    assert found.report.score == found.report.graded
    assert found.seconds == pytest.approx(found.report.provenance["seconds"], abs=0.5)
    assert {OUTSIDE, JUDGE, CALLS, FIRST_CALLS} <= set(found.kinds)
    assert min(found.kinds[kind] for kind in (JUDGE, CALLS, FIRST_CALLS)) > 0


def test_tasks_are_within_the_session(found) -> None:
    inside = found.seconds - found.kinds[OUTSIDE]

    assert 0 < sum(found.tasks.values()) <= inside + 0.1
    assert sum(found.tests.values()) == len(found.report.tests)


def test_both_tables_can_be_read(found) -> None:
    console = make_console(sys.stdout)
    with console.capture() as text:
        for table in render(found):
            console.print(table)

    assert "went to" in text.get()
    assert all(task in text.get() for task in found.tasks)


def test_seconds_alone_on_the_gpu_are_told(found) -> None:
    console = make_console(sys.stdout)
    with console.capture() as text:
        console.print(render(replace(found, alone=12.34))[0])

    assert found.alone == found.to_json()["alone"] == 0
    assert "12.3 of them alone on the GPU" in text.get()


def test_grading_that_is_interrupted_has_an_account_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def grade(request: Request, *, on_event: OnEvent) -> Report:
        on_event("test", TestResult("a", "law", "hidden", Verdict.PASSED, "", 1.5))
        on_event("spent", {JUDGE: 1.0})
        on_event("test", TestResult("b", "law", "hidden", Verdict.FAILED, "", 2.0))
        on_event("spent", {JUDGE: 1.0, CALLS: 0.5})
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "grade", grade)
    lab = find_lab("3", HERE.parent)

    cut = account(lab, lab.solutions, "cpu")

    assert cut.tasks == {"law": 3.5}
    assert (cut.kinds[JUDGE], cut.kinds[CALLS]) == (2.0, 0.5)
    assert cut.to_json()["interrupted"]
    console = make_console(sys.stdout)
    with console.capture() as text:
        console.print(render(cut)[0])
    assert "until it was interrupted" in text.get()


def test_time_limit_of_a_shell_leaves_an_account(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grader", "bench", "grading", "12", "--from", "solutions"]
    begun = tmp_path / "begun"
    with begun.open("wb") as out, subprocess.Popen(command, stdout=out, cwd=HERE.parent) as process:
        time.sleep(6.0)
        process.terminate()
        code = process.wait(timeout=60)

    assert code == 130
    assert "until it was interrupted" in begun.read_text()
