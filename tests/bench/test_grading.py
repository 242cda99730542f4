"""An account of a grading is whole: what it names adds up to the time that passed."""

import sys
from dataclasses import replace

import pytest
from stand_ins.expectation import HERE

from bench.grading import OUTSIDE, account, render
from grader.labs.lab import find_lab
from grader.proxy.spent import CALLS, FIRST_CALLS, JUDGE
from grader.report.terminal import make_console


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
