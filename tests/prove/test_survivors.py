"""`lab check --mutants`: what lives is told, unless a reason says why it may."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import test_check
from prove.test_check import Judge, failures

from grader.cli.tables.mutants import print_mutants
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report, TestResult, Verdict
from grader.prove.check import Judges, check_labs
from grader.prove.findings import CheckReport, Outcome, Proof, Tried
from grader.prove.mutants.survivors import check_mutants

lab = test_check.lab
REASON = """
[[equal]]
in = "double"
before = "return x + x"
after = ["return x - x"]
reason = "no reason at all"

[[equal]]
in = "Halver.__init__"
before = "def __init__(self, digits: int = 2) -> None:"
after = ["def __init__(self, digits: int = 1) -> None:", "def __init__(self, digits: int = 3) -> None:"]
reason = "one digit is enough for a half"
"""  # noqa: E501


def hunt(lab: Lab, judge: Any = None, **options: Any) -> CheckReport:
    return check_mutants([lab], Proof(**options), judges=Judges(judge or Judge()))


def equivalent(lab: Lab, text: str) -> None:
    (lab.solutions / "equivalent.toml").write_text(text)


def test_what_lives_is_told_by_its_lines(lab: Lab) -> None:
    judge = Judge()

    report = hunt(lab, judge)

    assert [(item.file, item.rule, item.details) for item in report.failed] == [
        (
            "solutions/01_numbers/numbers.py:12",
            f"mutant of Halver.__init__ is killed ({kind})",
            ("  before: def __init__(self, digits: int = 2) -> None:", f"  after:  {line}"),
        )
        for kind, line in (
            ("constant", "def __init__(self, digits: int = 3) -> None:"),
            ("constant", "def __init__(self, digits: int = 1) -> None:"),
        )
    ]
    assert report.failed[0].got == "every test of halve passes"
    assert report.exit_code == 1
    (tried,) = report.mutants
    assert (tried.killed, tried.equal, tried.left) == (tried.mutants - 2, 0, 2)


def test_a_mutant_is_graded_on_what_reaches_it_until_a_point_is_lost(lab: Lab) -> None:
    judge = Judge()

    hunt(lab, judge)

    chosen = [*judge.chosen.values()]
    assert {"double"} in chosen
    assert all(tasks in ({"double"}, {"halve"}) for tasks in chosen)
    assert judge.cut == judge.chosen.keys()


def test_reasons_excuse_what_lives_and_only_that(lab: Lab) -> None:
    equivalent(lab, REASON)

    report = hunt(lab)

    assert failures(report) == []
    (warned,) = [item for item in report.findings if item.outcome is Outcome.WARNING]
    assert warned.got == "test_double fails, though a reason says: no reason at all"
    (tried,) = report.mutants
    assert (tried.equal, tried.left, report.exit_code) == (2, 0, 0)


def test_reasons_are_no_stray_file(lab: Lab) -> None:
    equivalent(lab, REASON)

    report = check_labs([lab], Proof(seeds=1), judges=Judges(Judge()))

    assert failures(report) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("return x + x", "return x * x", "there is none like this"),
        ("[[equal]]", "[equal]]", "Expected newline or end of document after a statement"),
        ("before =", "befor =", "equal[1].before: is missing"),
        ("reason =", "why = 1\nreason =", "equal[1].why: is no key of this table"),
    ],
)
def test_reasons_that_name_nothing_are_told(lab: Lab, old: str, new: str, problem: str) -> None:
    equivalent(lab, REASON.replace(old, new, 1))

    report = hunt(lab)

    assert any(problem in failure for failure in failures(report))
    assert report.exit_code == 1


def test_a_sample_is_repeated_by_its_date(lab: Lab) -> None:
    first, again = (hunt(lab, sample=3, sample_date="2026-11-23") for _ in range(2))

    assert first == again
    assert first.mutants[0].tried == 3


def test_what_no_test_reaches_lives(lab: Lab) -> None:
    judge = Judge()
    judge.asked = {"double": ["double"]}

    report = hunt(lab, judge)

    assert "no test reaches it" in {item.got for item in report.failed}
    assert report.mutants[0].left > 2


def test_a_function_that_runs_nowhere_is_told_once(lab: Lab) -> None:
    unused = "return x + x\n\n\ndef elsewhere(x: int) -> int:\n    y = x * 4\n    return y + 1"
    test_check.edit(lab, "solutions/01_numbers/numbers.py", "return x + x", unused)
    judge = Judge()
    judge.asked["double"] += ["elsewhere"]

    report = hunt(load_lab(lab.folder), judge, jobs=1)

    tried = report.mutants[0]
    assert (tried.left, tried.idle) == (2, tried.mutants - tried.killed - 2)
    assert tried.idle > 5
    (warned,) = [item for item in report.findings if item.outcome is Outcome.WARNING]
    assert warned.rule == "elsewhere runs here"
    assert f"and so {tried.idle} mutants in it can tell nothing" in warned.got
    assert len(judge.chosen) == tried.killed + tried.left + 3  # one of elsewhere, and two bodies


def test_the_rest_of_a_block_that_runs_nowhere_is_told_once(lab: Lab) -> None:
    branch = "if x == 10**9:\n        y = x * 4\n        return y + 1\n    return x + x"
    test_check.edit(lab, "solutions/01_numbers/numbers.py", "return x + x", branch)

    report = hunt(load_lab(lab.folder), jobs=1)

    warned = {item.rule for item in report.findings if item.outcome is Outcome.WARNING}
    assert warned == {"double from line 7 on runs here"}
    changed = [line for item in report.failed for line in item.details]
    assert not any("y" in line.split() for line in changed), (
        "what it leaves out was told one by one"
    )
    assert any("if x != 10**9:" in line or "if x == " in line for line in changed)
    assert report.mutants[0].idle > 3


def test_nothing_is_tried_with_a_model_answer_that_fails(lab: Lab) -> None:
    test_check.edit(lab, "solutions/01_numbers/numbers.py", "x + x", "x + 1")

    report = hunt(load_lab(lab.folder))

    assert [item.rule for item in report.failed] == ["earns everything (seed 1)"]
    assert report.mutants[0].tried == 0


def test_what_breaks_in_the_judge_is_no_survivor(lab: Lab) -> None:
    class Breaking(Judge):
        def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
            report = super().__call__(request, on_event=on_event)
            if not request.tasks:
                return report
            tests = tuple(replace(test, verdict=Verdict.INFRA) for test in report.tests)
            return replace(report, tests=tests)

    report = hunt(lab, Breaking())

    assert {item.rule for item in report.failed} == {"the judge stays whole"}
    assert report.mutants[0].tried == 0


def test_a_grading_ends_with_the_first_test_that_fails(lab: Lab) -> None:
    class Telling(Judge):
        def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
            if request.tasks:
                task = min(request.tasks)
                on_event("test", TestResult("a", task, "hidden", Verdict.FAILED, ""))
                raise AssertionError("it goes on")
            return super().__call__(request, on_event=on_event)

    report = hunt(lab, Telling())

    assert report.mutants[0].killed == report.mutants[0].mutants


def test_the_table_has_a_line_a_lab_and_one_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    print_mutants([Tried("01_a", 100, 20, 3, 2, 7), Tried("02_b", 50, 10, 0, 0)])

    assert capsys.readouterr().out.splitlines()[1:] == [
        "    100     25     20      3     2     7  01_a",
        "     50     10     10      0     0     0  02_b",
        "    150     35     30      3     2     7  all labs",
    ]
