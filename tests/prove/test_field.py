"""Ports of public bugs: what their docstrings say, and that a check proves them."""

from pathlib import Path

import pytest
from prove.test_check import EDIT, Judge, failures, lab, prove

from grader.labs.lab import Lab
from grader.prove.answers.field import field_bugs, field_problem

__all__ = ["lab"]  # the fixture

SAID = "Kind: sizes\nReport: https://github.com/a/b/issues/1\nFails: "


def port(lab: Lab, text: str) -> Path:
    file = lab.field / "half_more.py"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_a_port_is_proven_as_a_wrong_answer_is(lab: Lab) -> None:
    file = port(lab, EDIT.replace("Fails: ", SAID))
    judge = Judge()

    report = prove(lab, judge, seeds=1)

    assert failures(report) == []
    assert field_bugs(lab) == [file]
    assert "half_more.py 1 auto auto" in judge.graded
    rules = [f.rule for f in report.findings if f.file == "tests/field/01_numbers/half_more.py"]
    assert sorted(rules) == [
        "docstring says what fails",
        "is a wrong answer of its own",
        "loses exactly what it should (seed 1)",
        "names a report of the world",
        "signatures are the stub's",
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Kind: sizes\n", "", "the docstring has no line `Kind: …` with one of addresses, "),
        ("sizes", "luck", "the docstring has no line `Kind: …` with one of addresses, "),
        ("Report: https://github.com/a/b/issues/1\n", "", "the docstring has no line `Report: "),
        ("https://", "see ", "this is no address: see github.com/a/b/issues/1"),
    ],
)
def test_what_a_port_does_not_say_is_told(lab: Lab, old: str, new: str, problem: str) -> None:
    file = port(lab, EDIT.replace("Fails: ", SAID).replace(old, new))

    assert field_problem(lab, file).startswith(problem)
