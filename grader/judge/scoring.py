"""From verdicts to points: gates, contracts, and what leaves the denominator."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.labs.lab import Lab
from grader.labs.results import (
    ContractResult,
    Expected,
    State,
    TaskResult,
    TestResult,
    Verdict,
)
from grader.labs.task import Contract, Task

UNSOUND = 0.5  # what a task still earns whose kernels do what a GPU does not forgive


def fill_missing(
    expected: Iterable[Expected], results: Iterable[TestResult], verdict: Verdict, message: str
) -> tuple[TestResult, ...]:
    """Return a result for every expected test, in the manifest's order; silence is ``verdict``."""
    found = {(result.suite, result.id): result for result in results}
    return tuple(
        found.get(
            (e.suite, e.id),
            TestResult(e.id, e.task, e.suite, verdict, message, contract=e.contract),
        )
        for e in expected
    )


@dataclass(frozen=True, slots=True)
class Scores:
    """Points of the tasks, and of the contracts that share them."""

    tasks: tuple[TaskResult, ...]
    contracts: tuple[ContractResult, ...]


def score(lab: Lab, expected: Iterable[Expected], results: Iterable[TestResult]) -> Scores:
    """Score each task: 0 if a gate failed, else points times the weight of the contracts that hold.

    Half of that where a test found what a GPU does not forgive: there nothing would be right. A
    gate that found it closes nothing: it costs the same wherever it is found.
    A contract holds if all of its tests pass; a test without one is weighed by itself. What this
    machine cannot judge leaves the denominator; a task whose points nothing else shares leaves it
    too, whatever gate has failed. So does a task with a test where the fault is ours: a share of
    its points would be a discount, and who can break the judge would choose which.
    """
    results = [*results]
    verdicts = {(r.suite, r.id): r.verdict for r in results}
    halved = {r.task for r in results if r.halves}
    open_gates = {(r.suite, r.id) for r in results if r.halves}
    known = [
        (replace(e, gate=False) if (e.suite, e.id) in open_gates else e, verdicts[e.suite, e.id])
        for e in expected
        if (e.suite, e.id) in verdicts
    ]
    scored = [
        _task(
            task,
            [pair for pair in known if pair[0].task == task.id],
            UNSOUND if task.id in halved else 1.0,
        )
        for task in lab.tasks
    ]
    return Scores(
        tuple(task for task, _ in scored),
        tuple(contract for _, contracts in scored for contract in contracts),
    )


Known = Sequence[tuple[Expected, Verdict]]


@dataclass(frozen=True, slots=True)
class _Share:
    """What is earned whole or not at all: a contract's tests, or one test that has none."""

    weight: float  # 0: it only reports
    state: State

    @property
    def counts(self) -> bool:
        return self.state is not State.UNTRIED


def _task(task: Task, own: Known, part: float) -> tuple[TaskResult, list[ContractResult]]:
    contracts = {c.number: _share(_of(own, c.number), c.weight) for c in task.contracts}
    single = [_share([pair], pair[0].weight) for pair in own if pair[0].contract not in contracts]
    shares = [*contracts.values(), *single]
    weight = sum(share.weight for share in shares if share.counts)
    counted = [(e, verdict) for e, verdict in own if verdict.counts]
    gate_failed = any(e.gate and verdict is not Verdict.PASSED for e, verdict in counted)
    broken = any(verdict is Verdict.INFRA for _, verdict in own)
    cannot_be_judged = broken or (not weight and any(e.weight for e, _ in own))
    graded = bool(weight or gate_failed) and not cannot_be_judged

    def points(share: _Share) -> float:
        return task.points * share.weight / weight if graded and weight and share.counts else 0.0

    def earned(share: _Share) -> float:
        holds = share.state is State.HOLDS and not gate_failed
        return part * points(share) if holds else 0.0

    total = round(sum(map(earned, shares)), 4)
    held = [
        _result(task, contract, share.state, points(share), earned(share))
        for contract, share in zip(task.contracts, contracts.values(), strict=True)
    ]
    return TaskResult(task.id, task.title, task.points, total, graded), held


def _result(
    task: Task, contract: Contract, state: State, points: float, earned: float
) -> ContractResult:
    shown = round(points, 4), round(earned, 4)
    return ContractResult(contract.number, task.id, contract.says, state, *shown)


def _of(own: Known, number: int) -> Known:
    return [pair for pair in own if pair[0].contract == number]


def _share(tests: Known, weight: float) -> _Share:
    """Tell how the tests came out together; ``weight`` counts if one of them has any."""
    counted = [verdict for _, verdict in tests if verdict.counts]
    broken = [v for v in counted if v not in (Verdict.PASSED, Verdict.SKIPPED)]
    if broken:
        state = State.BROKEN
    elif not counted or any(verdict is Verdict.INFRA for _, verdict in tests):
        state = State.UNTRIED
    elif Verdict.SKIPPED in counted:
        state = State.WAITING
    else:
        state = State.HOLDS
    return _Share(weight if any(e.weight for e, _ in tests) else 0.0, state)
