"""What a wrong answer loses at least: a broken contract must show in the points of its task."""

from collections.abc import Iterable, Iterator

from grader.judge.scoring import UNSOUND
from grader.labs.results import Report, State, Verdict
from grader.prove.expected import Graded, Role
from grader.prove.findings import Finding, Loss, Outcome

LEAST = 0.05  # of the points of a task


def losses_of(gradings: Iterable[Graded]) -> list[Loss]:
    """Return what each wrong answer loses of its tasks by contracts that it breaks.

    Once a point is lost other tests may not have run, so this is the least that it loses.
    """
    return [
        loss
        for graded in gradings
        if graded.role is Role.WRONG and graded.report is not None and not graded.tests
        for loss in _losses(graded, graded.report)
    ]


def _losses(graded: Graded, report: Report) -> Iterator[Loss]:
    gates = {(test.suite, test.id) for test in graded.manifest if test.gate}
    closed = {
        test.task
        for test in report.tests
        if (test.suite, test.id) in gates and test.verdict.counts
        if test.verdict is not Verdict.PASSED and not test.halves
    }
    halved = {test.task for test in report.tests if test.halves}
    for task in report.tasks:
        own = [contract for contract in report.contracts if contract.task == task.id]
        broken = sum(each.points for each in own if each.state is State.BROKEN)
        if broken and task.id in graded.fails - closed:
            share = broken / task.points
            share = 1 - UNSOUND * (1 - share) if task.id in halved else share
            yield Loss(graded.lab.name, graded.file, task.id, share)


def too_small(losses: Iterable[Loss]) -> Iterator[Finding]:
    """Give a finding for each loss that hardly shows."""
    for loss in losses:
        if loss.share < LEAST:
            rule, wanted = f"{loss.task} is lost visibly", f"at least {LEAST:.0%} of its points"
            got = f"{loss.share:.1%}"
            yield Finding(loss.lab, rule, loss.file, Outcome.FAILED, wanted, got)
