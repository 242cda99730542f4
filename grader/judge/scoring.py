"""From verdicts to points: gates, weights, and what leaves the denominator."""

from collections.abc import Iterable, Mapping

from grader.labs.lab import Lab, Task
from grader.labs.results import Expected, TaskResult, TestResult, Verdict

Key = tuple[str, str]  # suite and id


def fill_missing(
    expected: Iterable[Expected], results: Iterable[TestResult], verdict: Verdict, message: str
) -> tuple[TestResult, ...]:
    """Return a result for every expected test, in the manifest's order; silence is ``verdict``."""
    found = {(result.suite, result.id): result for result in results}
    return tuple(
        found.get((e.suite, e.id), TestResult(e.id, e.task, e.suite, verdict, message))
        for e in expected
    )


def score(
    lab: Lab, expected: Iterable[Expected], results: Iterable[TestResult]
) -> tuple[TaskResult, ...]:
    """Score each task: 0 if a gate failed, else points times passed weight over total weight.

    Tests that this machine cannot judge, and those where the fault is ours, leave the denominator;
    a task whose points no other test shares leaves it too, whatever gate has failed.
    """
    entries = {(e.suite, e.id): e for e in expected}
    verdicts = {(r.suite, r.id): r.verdict for r in results}
    return tuple(_task(task, entries, verdicts) for task in lab.tasks)


def _task(
    task: Task, entries: Mapping[Key, Expected], verdicts: Mapping[Key, Verdict]
) -> TaskResult:
    own = [
        (e, verdicts[key]) for key, e in entries.items() if e.task == task.id and key in verdicts
    ]
    counted = [(e, verdict) for e, verdict in own if verdict.counts]
    weight = sum(e.weight for e, _ in counted)
    gate_failed = any(e.gate and verdict is not Verdict.PASSED for e, verdict in counted)
    cannot_be_judged = not weight and any(e.weight for e, _ in own)
    if cannot_be_judged or not (weight or gate_failed):
        return TaskResult(task.id, task.title, task.points, 0.0, graded=False)
    passed = sum(e.weight for e, verdict in counted if verdict is Verdict.PASSED)
    earned = 0.0 if gate_failed else round(task.points * passed / weight, 4)
    return TaskResult(task.id, task.title, task.points, earned, graded=True)
