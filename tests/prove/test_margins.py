"""`lab check --margins`: how far answers, and forms of operators, stay from their limits."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import test_check
import torch
from test_check import Judge

from grader.cli.tables.margins import print_ends, print_margins
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import Measured, Report
from grader.prove.check import Judges, check_labs
from grader.prove.ends import shares
from grader.prove.findings import CheckReport, End, Ends, Outcome, Proof
from reference.ends import Limit, Operator

lab = test_check.lab
NEAR = {"01_numbers": 0.1, "shift.py": 0.2, "adds_one.py": 500.0}


class Measuring(Judge):
    """Says of each answer how close its doubles come to their limit."""

    def __init__(self, shares: dict[str, float]) -> None:
        super().__init__()
        self.shares = shares

    def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
        share = self.shares.get(request.source.name)
        closest = {"what": "twice", "by": "whole", "error": 1e-6 * (share or 0), "limit": 1e-6}
        item = {"suite": "hidden", "test": "test_double", "closest": closest}
        on_event("measured", [item] if share is not None else [])
        return super().__call__(request, on_event=on_event)


def prove(lab: Lab, judge: Judge, **asked: Any) -> CheckReport:
    proof = Proof(seeds=1, margins=True, **asked)
    return check_labs([lab], proof, judges=Judges(judge))


def warned(report: CheckReport) -> list[str]:
    """Rules of the warnings; the lab of these tests has no Chinese, which is one of them."""
    return [
        item.rule
        for item in report.findings
        if item.outcome is Outcome.WARNING and item.rule != "has a translation"
    ]


def test_nearest_answers_on_either_side_are_told(lab: Lab) -> None:
    report = prove(lab, Measuring(NEAR))

    (margin,) = report.margins
    assert margin.right is not None
    assert margin.wrong is not None
    assert (margin.right.file, margin.right.measured.share) == (test_check.VARIANT_FILE, 0.2)
    assert (margin.wrong.file, round(margin.wrong.measured.share)) == (test_check.WRONG_FILE, 500)
    assert not margin.is_narrow
    assert (warned(report), report.exit_code) == ([], 0)


def test_nothing_is_told_unless_asked(lab: Lab) -> None:
    report = check_labs([lab], judges=Judges(Measuring(NEAR | {"shift.py": 0.9})))

    assert (report.margins, warned(report)) == ((), [])


def test_no_test_of_a_wrong_answer_is_left_out(lab: Lab) -> None:
    judge = Measuring(NEAR)

    prove(lab, judge)

    assert judge.cut == set()


def test_a_right_answer_near_the_limit_is_a_warning(lab: Lab) -> None:
    report = prove(lab, Measuring(NEAR | {"shift.py": 0.4}))

    assert warned(report) == ["right answers keep away from the limit"]
    found = next(item for item in report.findings if item.rule == warned(report)[0])
    assert found.file == "hidden test_double"
    assert (
        found.got == f"0.4 of the limit 1.0e-06 (whole, twice), {test_check.VARIANT_FILE}, seed 1"
    )
    assert report.exit_code == 0


def test_a_wrong_answer_that_only_a_narrow_limit_tells_is_a_failure(
    lab: Lab,
) -> None:
    report = prove(lab, Measuring(NEAR | {"adds_one.py": 2.0}))

    assert warned(report) == ["wrong answers exceed the limit clearly"]
    # Its public test failed too, and by no number.
    assert report.exit_code == 0
    test_check.edit(lab, test_check.WRONG_FILE, "x + 1", "x + 2")

    class Numbers(Measuring):
        """Measures the public test as well."""

        def __call__(self, request: Request, *, on_event: Any) -> Report:
            def hear(event: str, data: Any) -> None:
                if event == "measured":
                    data = [
                        *data,
                        *({**item, "test": "test_public", "suite": "public"} for item in data),
                    ]
                on_event(event, data)

            return super().__call__(request, on_event=hear)

    report = prove(lab, Numbers(NEAR | {"adds_one.py": 2.0}))

    assert [item.rule for item in report.failed] == ["double is lost clearly (seed 1)"]
    assert report.failed[0].got == "at most 2 times the limit, in 2 tests"


def test_a_wrong_answer_within_the_limits_fails_for_another_reason(
    lab: Lab,
) -> None:
    report = prove(lab, Measuring(NEAR | {"adds_one.py": 0.9}))

    assert report.margins[0].wrong is None
    assert (warned(report), report.exit_code) == ([], 0)


def test_the_table_has_a_line_for_each_test(lab: Lab, capsys: Any) -> None:
    print_margins(prove(lab, Measuring(NEAR)).margins)
    print_margins(prove(lab, Measuring({"shift.py": 0.5})).margins)

    assert capsys.readouterr().out.splitlines() == [
        "01_numbers: shares of the limit",
        "    right  limit              wrong  test",
        "      0.2  1.0e-06 whole      5e+02  hidden test_double",
        "01_numbers: shares of the limit",
        "    right  limit              wrong  test",
        "!     0.5  1.0e-06 whole          -  hidden test_double",
    ]


def test_a_limit_of_nothing_is_exceeded_by_anything() -> None:
    assert Measured("x", "number", 1e-9, 0.0).share == float("inf")
    assert Measured("x", "number", 0.0, 0.0).share == 0.0


def end(share: float) -> End:
    return End("softmax", "one by one", "hundreds", share)


@pytest.mark.parametrize(
    ("honest", "lossy", "mark", "exit_code"),
    [(0.2, 50.0, " ", 0), (0.5, 50.0, "!", 0), (0.2, 2.0, "!", 0), (1.5, 50.0, "!", 1)],
)
def test_operators_have_a_table_and_must_hold(
    honest: float, lossy: float, mark: str, exit_code: int, capsys: Any
) -> None:
    report = CheckReport((), ends=(Ends(7, end(honest), end(lossy)),))

    print_ends(report.ends)

    line = f"{mark} {honest:7.2g}  {lossy:7.2g}  softmax, 7 forms: one by one, at hundreds"
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert report.exit_code == exit_code


def test_a_lossy_form_within_the_limit_is_a_failure() -> None:
    assert CheckReport((), ends=(Ends(7, end(0.1), end(0.9)),)).exit_code == 1


def test_a_repository_without_operators_has_no_table(lab: Lab, capsys: Any) -> None:
    report = prove(lab, Measuring(NEAR))

    print_ends(report.ends)

    assert (report.ends, capsys.readouterr().out) == ((), "")


def test_what_is_no_number_is_beyond_any_limit() -> None:
    nothing = Limit(torch.ones(2, dtype=torch.float64), "elementwise")
    operator = Operator("one", {"all": lambda _: ()}, lambda: nothing, {}, {}, "all")
    forms = {"right": lambda: torch.ones(2), "lost": lambda: torch.full((2,), math.nan)}

    found = {item.form: item.share for item in shares(operator, forms, ["all"])}

    assert found == {"right": 0.0, "lost": math.inf}
