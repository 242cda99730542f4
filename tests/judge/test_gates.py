"""What a test that did not pass closes."""

import pytest

from grader.judge.plugin.gates import GateFailed, Gates
from grader.labs.results import Expected, Verdict


def entry(task: str, gate: bool = False) -> Expected:
    return Expected(f"test_of_{task}", task, "hidden", 1.0, gate)


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.NOT_GRADED, Verdict.INFRA])
def test_what_is_no_fault_closes_nothing(verdict: Verdict) -> None:
    gates = Gates({})

    gates.note(entry("norm", gate=True), verdict, halves=False)

    gates.check("norm", [], ["norm"])
    assert not gates.is_closed("norm")


@pytest.mark.parametrize(
    "verdict", [Verdict.FAILED, Verdict.ERROR, Verdict.CRASHED, Verdict.SKIPPED]
)
def test_failed_gate_closes_its_task(verdict: Verdict) -> None:
    gates = Gates({})

    gates.note(entry("norm", gate=True), verdict, halves=False)

    assert gates.is_closed("norm")
    with pytest.raises(GateFailed, match=r"^test_of_norm has to pass first$"):
        gates.check("norm", [], [])
    with pytest.raises(GateFailed, match="builds on norm, whose test_of_norm did not pass"):
        gates.check("rope", ["norm"], [])
    gates.check("rope", [], ["rope"])


def test_gate_that_halves_its_task_closes_nothing() -> None:
    gates = Gates({})

    gates.note(entry("norm", gate=True), Verdict.FAILED, halves=True)

    gates.check("norm", [], [])
    with pytest.raises(GateFailed, match="needs all of norm"):
        gates.check("speed", [], ["norm"])


def test_task_is_closed_by_what_the_code_did_while_it_ran() -> None:
    gates = Gates({})
    gates.note(entry("norm"), Verdict.PASSED, halves=False)

    gates.close("norm", "rules[norm]")

    assert gates.is_closed("norm")
    with pytest.raises(GateFailed, match=r"^rules\[norm\] has to pass first$"):
        gates.check("norm", [], [])
    with pytest.raises(GateFailed, match="builds on norm, whose rules"):
        gates.check("rope", ["norm"], [])
    with pytest.raises(GateFailed, match="did not pass"):
        gates.check_not_lost("norm", [])


def test_other_failure_stops_only_what_needs_all_of_a_task() -> None:
    gates = Gates({})

    gates.note(entry("norm"), Verdict.FAILED, halves=False)

    gates.check("norm", [], [])
    with pytest.raises(GateFailed, match="needs all of norm, whose test_of_norm did not pass"):
        gates.check("speed", [], ["norm"])


def test_task_is_lost_with_the_first_test_that_is_worth_anything() -> None:
    gates = Gates({"rope": "rules[rope]"})

    gates.note(Expected("test_shown", "norm", "public", weight=0.0), Verdict.FAILED, halves=False)
    gates.check_not_lost("norm", [])
    gates.note(entry("norm"), Verdict.CRASHED, halves=False)

    with pytest.raises(GateFailed, match="test_of_norm did not pass"):
        gates.check_not_lost("norm", [])
    with pytest.raises(GateFailed, match=r"rules\[rope\]"):
        gates.check_not_lost("rope", [])


def test_task_is_lost_with_what_some_of_its_points_need() -> None:
    gates = Gates({})

    gates.note(Expected("test_shown", "norm", "public", weight=0.0), Verdict.FAILED, halves=False)

    gates.check_not_lost("speed", ["rope"])
    with pytest.raises(GateFailed, match="needs all of norm, whose test_shown did not pass"):
        gates.check_not_lost("speed", ["rope", "norm"])


def test_first_failure_is_the_one_that_is_named() -> None:
    gates = Gates({"norm": "rules[norm]"})

    gates.note(entry("norm", gate=True), Verdict.FAILED, halves=False)

    with pytest.raises(GateFailed, match=r"rules\[norm\]"):
        gates.check("norm", [], [])
