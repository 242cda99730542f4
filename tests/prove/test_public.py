"""`lab check --public`, `--messages`, and what wrong answers lose at least."""

from dataclasses import replace
from typing import Any

import pytest
import test_check
from test_check import WRONG, WRONG_FILE, Judge

from grader.cli.tables.messages import PARTS, parts_of, print_messages
from grader.cli.tables.public import print_catches, print_least, print_shares
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import ContractResult, Report, State, TestResult, Verdict
from grader.prove.check import Judges, check_labs
from grader.prove.findings import Catch, CheckReport, Loss, Outcome, Proof

lab = test_check.lab


class Reading(Judge):
    """Has public tests that see a mistake only in some files."""

    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self.seen = seen
        self.suites: list[str] = []

    def __call__(self, request: Request, **options: Any) -> Report:
        self.suites.append(request.suite)
        report = super().__call__(request, **options)
        if request.suite == "all":
            return report
        verdict = Verdict.FAILED if request.source.name in self.seen else Verdict.PASSED
        tests = [replace(test, verdict=verdict) for test in report.tests if test.suite == "public"]
        return replace(report, tests=tuple(tests))


def public(lab: Lab, judge: Judge) -> CheckReport:
    return check_labs([lab], Proof(public=True), judges=Judges(judge))


@pytest.fixture
def three(lab: Lab) -> Lab:
    """The lab with three wrong answers."""
    for name in ("adds_two", "adds_three"):
        text = WRONG.replace("x + 1", f"x + {name}").replace("adds_two", "2")
        file = lab.solutions / "wrong" / f"{name}.py"
        file.write_text(text.replace("adds_three", "3"))
    return lab


def test_wrong_answers_that_public_tests_catch_are_counted(
    three: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = Reading({"adds_one.py", "adds_two.py"})

    report = public(three, judge)

    assert {*judge.suites} == {"public"}
    assert [(item.file.rpartition("/")[2], item.first is None) for item in report.catches] == [
        ("adds_one.py", False),
        ("adds_three.py", True),
        ("adds_two.py", False),
    ]
    (finding,) = report.findings
    assert (finding.outcome, finding.got) == (Outcome.FAILED, "67% of 3")
    print_catches(report.catches)
    print_shares(report.catches)
    said = capsys.readouterr().out
    assert "not caught: solutions/01_numbers/wrong/adds_three.py" in said
    assert "     2    3    67%  01_numbers" in said


def test_enough_is_enough(three: Lab) -> None:
    report = public(three, Reading({"adds_one.py", "adds_two.py", "adds_three.py"}))

    assert (report.exit_code, report.findings[0].got) == (0, "100% of 3")


def test_what_this_machine_cannot_grade_is_in_no_share(three: Lab) -> None:
    class Elsewhere(Reading):
        def __call__(self, request: Request, **options: Any) -> Report:
            report = super().__call__(request, **options)
            here = request.source.name != "adds_three.py"
            tasks = tuple(replace(task, graded=task.graded and here) for task in report.tasks)
            return replace(report, tasks=tasks)

    report = public(three, Elsewhere({"adds_one.py", "adds_two.py"}))

    assert (report.exit_code, report.findings[0].got) == (0, "100% of 2")


def test_public_test_that_breaks_is_found(lab: Lab) -> None:
    judge = Reading(set())
    breaking = Reading.__call__

    class Broken(Reading):
        def __call__(self, *args: Any, **options: Any) -> Report:
            report = breaking(self, *args, **options)
            tests = tuple(replace(test, verdict=Verdict.INFRA) for test in report.tests)
            return replace(report, tests=tests)

    report = public(lab, Broken(judge.seen))

    assert "a public test broke" in [finding.got for finding in report.findings]


class Losing(Judge):
    """Says of each wrong answer that it breaks one contract, worth this share of its task."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def __call__(self, request: Request, **options: Any) -> Report:
        report = super().__call__(request, **options)
        if not request.source.name.startswith("adds"):
            return report
        tests = tuple(
            replace(test, verdict=Verdict.PASSED, message="")
            if test.id == "test_double"  # the gate is open
            else replace(test, verdict=Verdict.FAILED)
            if test.id == "test_public"
            else test
            for test in report.tests
        )
        broken = ContractResult(1, "double", "twice", State.BROKEN, 60 * self.share, 0.0)
        return replace(report, tests=tests, contracts=(broken,))


@pytest.mark.parametrize(("share", "failed"), [(0.04, 1), (0.05, 0), (0.2, 0)])
def test_loss_that_hardly_shows_is_a_finding(
    lab: Lab, share: float, failed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report = check_labs([lab], Proof(seeds=1), judges=Judges(Losing(share)))

    assert report.losses == (Loss("01_numbers", WRONG_FILE, "double", pytest.approx(share)),)
    found = [item for item in report.failed if item.rule == "double is lost visibly"]
    assert len(found) == failed
    print_least(report.losses)
    assert f"least loss: {share:.1%} of double" in capsys.readouterr().out


def test_first_message_of_each_wrong_answer_is_printed(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    report = check_labs([lab], Proof(seeds=1), judges=Judges(Judge()))

    print_messages(lab, [(file, said) for _, file, said in report.wrong])

    said = capsys.readouterr().out
    assert "01_numbers adds_one.py" in said
    assert "double is wrong" in said
    assert "of 1 messages: contract 0, call 0, got 1, expected 0; all four 0%" in said


WHOLE = "Doubles a number.\ncall: double(3)\ngot 7, expected 6"
MESSAGES = {
    "all four": (WHOLE, Verdict.FAILED, {"contract", "call", "got", "expected"}),
    "several calls": (WHOLE.replace("call: ", "calls:\n  "), Verdict.FAILED, set(PARTS)),
    "no call": ("Doubles.\nit is 7, expected 6", Verdict.FAILED, set(PARTS) - {"call"}),
    "nothing that was expected": (
        "Doubles.\ncall: double(3)\nthe result is 7",
        Verdict.FAILED,
        set(PARTS) - {"expected"},
    ),
    "how it departs": ("Doubles.\ncall: double(3)\nx has changed", Verdict.FAILED, set(PARTS)),
    "nothing that came": ("It is 6.\ncall: is_six(6)", Verdict.FAILED, {"contract", "call"}),
    "an error": ("Doubles.\ncall: double(3)\nKeyError: 3", Verdict.ERROR, set(PARTS)),
}


@pytest.mark.parametrize(("message", "verdict", "parts"), MESSAGES.values(), ids=MESSAGES)
def test_what_a_message_says_is_told(message: str, verdict: Verdict, parts: set[str]) -> None:
    test = TestResult("test_x", "double", "hidden", verdict, message, contract=1)

    assert parts_of(test) == parts
    assert parts_of(replace(test, contract=0)) == parts - {"contract"}


def test_share_of_no_answers_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_shares([Catch("01_x", "a.py", None)])

    assert "0%  01_x" in capsys.readouterr().out
