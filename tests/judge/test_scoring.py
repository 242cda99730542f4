"""From verdicts to points: gates, weights, what leaves the denominator."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.judge.scoring import fill_missing, score
from grader.labs.lab import Lab, Limits
from grader.labs.results import Expected, Report, State, TaskResult, TestResult, Verdict
from grader.labs.task import Contract, Task

PASSED, FAILED, SKIPPED = Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED
NOT_GRADED, INFRA = Verdict.NOT_GRADED, Verdict.INFRA
TASKS = (Task("norm", "Norm", 60.0, "h"), Task("rope", "Rope", 40.0, "h"))
LAB = Lab(1, "01_x", "x", Path(), Path(), "t", "s", (), (), (), Limits(), (), TASKS)


def graded(*tests: tuple[str, Verdict, float, bool]) -> tuple[TaskResult, ...]:
    """Score tests given as (task, verdict, weight, gate)."""
    expected = [Expected(f"t{i}", t, "hidden", w, g) for i, (t, _, w, g) in enumerate(tests)]
    results = [TestResult(f"t{i}", t, "hidden", v) for i, (t, v, _, _) in enumerate(tests)]
    return score(LAB, expected, results).tasks


def norm(*tests: tuple[Verdict, float, bool]) -> tuple[float, bool]:
    """Return points and whether the task was graded."""
    task = graded(*(("norm", *test) for test in tests))[0]
    return task.score, task.graded


def test_every_task_is_scored_by_its_own_tests() -> None:
    one, two = graded(("norm", PASSED, 1, True), ("rope", FAILED, 1, True))

    assert (one.id, one.title, one.points, one.score, one.graded) == ("norm", "Norm", 60, 60, True)
    assert (two.score, two.graded) == (0, True)


def test_weights_share_the_points() -> None:
    assert norm((PASSED, 1, True), (PASSED, 2, False), (FAILED, 1, False)) == (45, True)


@pytest.mark.parametrize(
    "verdict", [v for v in Verdict if v not in (PASSED, NOT_GRADED, INFRA)], ids=str
)
def test_gate_that_did_not_pass_takes_all(verdict: Verdict) -> None:
    assert norm((verdict, 1, True), (PASSED, 9, False)) == (0, True)
    assert norm((PASSED, 1, True), (verdict, 1, False)) == (30, True)


def test_one_of_two_gates_is_enough_to_fail() -> None:
    assert norm((PASSED, 1, True), (FAILED, 1, True), (PASSED, 1, False)) == (0, True)


def test_task_that_a_gpu_does_not_forgive_earns_half_at_most() -> None:
    expected = [Expected(name, "norm", "hidden") for name in ("race", "sum", "other")]
    results = [TestResult(name, "norm", "hidden", PASSED) for name in ("sum", "other")]
    raced = TestResult("race", "norm", "hidden", FAILED, halves=True)

    task = score(LAB, expected, [raced, *results]).tasks[0]

    assert (task.score, task.graded) == (20, True)


def test_gate_that_a_gpu_does_not_forgive_halves_its_task_and_closes_nothing() -> None:
    expected = [Expected("race", "norm", "hidden", gate=True), Expected("sum", "norm", "hidden")]
    raced = TestResult("race", "norm", "hidden", FAILED, halves=True)
    summed = TestResult("sum", "norm", "hidden", PASSED)

    task = score(LAB, expected, [raced, summed]).tasks[0]

    assert task.score == 60 * 0.5 * 0.5


def test_gate_without_weight_is_still_a_gate() -> None:
    assert norm((PASSED, 0, True), (PASSED, 1, False)) == (60, True)
    assert norm((FAILED, 0, True), (PASSED, 1, False)) == (0, True)
    assert norm((FAILED, 0, True)) == (0, True)


def test_what_cannot_be_judged_leaves_the_denominator() -> None:
    assert norm((PASSED, 1, True), (NOT_GRADED, 5, False)) == (60, True)
    assert norm((PASSED, 1, True), (FAILED, 1, False), (NOT_GRADED, 5, False)) == (30, True)
    assert norm((NOT_GRADED, 1, True), (PASSED, 1, False)) == (60, True)


@pytest.mark.parametrize("weight", [0, 1])
@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("other", [PASSED, FAILED, SKIPPED, NOT_GRADED])
def test_task_that_the_judge_broke_in_is_not_graded(
    other: Verdict, gate: bool, weight: float
) -> None:
    """What is left of it would be a discount: neither points nor a zero, whatever else failed."""
    assert norm((other, 1, True), (INFRA, weight, gate), (PASSED, 1, False)) == (0, False)


def test_task_beside_one_that_the_judge_broke_in_is_graded() -> None:
    one, two = graded(("norm", INFRA, 1, False), ("rope", PASSED, 1, True))

    assert (one.score, one.graded, two.score, two.graded) == (0, False, 40, True)


@pytest.mark.parametrize("verdict", [NOT_GRADED, INFRA])
def test_task_of_which_nothing_can_be_judged_is_not_graded(verdict: Verdict) -> None:
    assert norm((verdict, 1, True), (verdict, 1, False)) == (0, False)


def test_only_a_rule_that_was_kept_grades_no_task() -> None:
    assert norm((PASSED, 0, True), (NOT_GRADED, 1, False)) == (0, False)


@pytest.mark.parametrize("verdict", [NOT_GRADED, INFRA])
def test_gate_that_failed_grades_nothing_that_cannot_be_judged(verdict: Verdict) -> None:
    assert norm((FAILED, 0, True), (verdict, 1, False)) == (0, False)
    assert norm((FAILED, 0, True), (NOT_GRADED, 1, False), (SKIPPED, 1, False)) == (0, True)


def test_task_without_tests_is_not_graded() -> None:
    assert [task.graded for task in graded()] == [False, False]


def test_tests_of_two_suites_may_share_an_id() -> None:
    expected = [Expected("t", "norm", suite, gate=True) for suite in ("hidden", "public")]
    results = [
        TestResult("t", "norm", "hidden", FAILED),
        TestResult("t", "norm", "public", PASSED),
    ]

    assert score(LAB, expected, results).tasks[0].score == 0


def test_result_that_nobody_expected_earns_nothing() -> None:
    results = [TestResult("forged", "norm", "hidden", PASSED)]

    assert score(LAB, [Expected("t", "norm", "hidden")], results).tasks[0].score == 0


def test_thirds_are_rounded_to_four_places() -> None:
    assert norm((PASSED, 1, True), (PASSED, 1, False), (FAILED, 4, False)) == (20, True)
    assert norm((PASSED, 1, True), *[(FAILED, 1, False)] * 6) == (8.5714, True)


def test_missing_results_are_filled_in_the_manifests_order() -> None:
    expected = [Expected(name, "norm", "hidden") for name in ("a", "b", "c")]
    found = [TestResult("c", "norm", "hidden", PASSED), TestResult("a", "norm", "hidden", FAILED)]

    filled = fill_missing(expected, found, INFRA, "the judge stopped")

    assert [(t.id, t.verdict) for t in filled] == [("a", FAILED), ("b", INFRA), ("c", PASSED)]
    assert filled[1].message == "the judge stopped"


def test_infra_never_hides_behind_a_score() -> None:
    """A fault of ours costs no point and is never reported as a success."""
    tests = (TestResult("a", "norm", "hidden", PASSED), TestResult("b", "norm", "hidden", INFRA))
    report = Report(1, "x", (), tests)

    assert report.exit_code == 3


# --- contracts --------------------------------------------------------------------------------

CONTRACTS = (Contract(1, "one"), Contract(2, "two"), Contract(3, "three", weight=2.0))
NUMBERED = Task("norm", "Norm", 60.0, "h", contracts=CONTRACTS)


def contracted(*tests: tuple[int, Verdict]) -> tuple[float, list[tuple[State, float]]]:
    """Score a task's tests given as (contract, verdict): points, and what each contract got."""
    lab = replace(LAB, tasks=(NUMBERED,))
    expected = [
        Expected(f"t{i}", "norm", "hidden", 1.0 + i, contract=number)
        for i, (number, _) in enumerate(tests)
    ]
    results = [TestResult(f"t{i}", "norm", "hidden", v) for i, (_, v) in enumerate(tests)]
    scores = score(lab, expected, results)
    return scores.tasks[0].score, [(c.state, c.score) for c in scores.contracts]


def test_contract_is_earned_if_all_of_its_tests_pass() -> None:
    points, contracts = contracted((1, PASSED), (1, FAILED), (2, PASSED), (3, PASSED))

    assert points == 45  # of weights 1, 1 and 2 whatever the weights of the tests
    assert contracts == [
        (State.BROKEN, 0),
        (State.HOLDS, 15),
        (State.HOLDS, 30),
    ]


def test_contract_that_nothing_tries_leaves_the_denominator() -> None:
    points, contracts = contracted((1, PASSED), (2, FAILED), (3, NOT_GRADED))

    assert points == 30
    assert contracts[2] == (State.UNTRIED, 0)


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (PASSED, State.HOLDS),
        (FAILED, State.BROKEN),
        (NOT_GRADED, State.HOLDS),
        (INFRA, State.UNTRIED),
        (SKIPPED, State.WAITING),
    ],
)
def test_state_of_a_contract_with_two_tests(other: Verdict, state: State) -> None:
    assert contracted((1, PASSED), (1, other), (2, PASSED))[1][0][0] is state


def test_infra_does_not_hide_what_broke_a_contract() -> None:
    assert contracted((1, INFRA), (1, FAILED), (2, PASSED))[1][0][0] is State.BROKEN


def test_test_without_a_contract_is_weighed_beside_them() -> None:
    # Weights 1, 1 and 2 of the contracts, and 4 of the fourth test.
    points, _ = contracted((1, PASSED), (2, PASSED), (3, PASSED), (0, FAILED))

    assert points == 30


def test_failed_gate_takes_what_contracts_earned() -> None:
    lab = replace(LAB, tasks=(NUMBERED,))
    expected = [
        Expected("gate", "norm", "rules", 0.0, gate=True),
        Expected("t", "norm", "hidden", contract=1),
    ]
    results = [
        TestResult("gate", "norm", "rules", FAILED),
        TestResult("t", "norm", "hidden", PASSED),
    ]

    scores = score(lab, expected, results)

    assert scores.tasks[0].score == 0
    assert scores.contracts[0].state is State.HOLDS
    assert (scores.contracts[0].points, scores.contracts[0].score) == (60, 0)
