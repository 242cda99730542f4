"""How far answers stay from the limits of numerical tests: right ones below, wrong ones above.

A limit that a right answer nearly reaches rejects the next right one, and one that a wrong answer
hardly passes lets the next wrong one through. So a factor is asked for on either side.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from grader.labs.results import Measured, Report, TestResult, Verdict
from grader.prove.expected import RIGHT, RIGHT_ROLES, Graded, Role
from grader.prove.findings import FACTOR, Finding, Margin, Outcome, Reach

Place = tuple[str, str]  # suite and id of a test


def margins_of(gradings: Sequence[Graded]) -> list[Margin]:
    """Return the margin of each test that compared numbers, in the order in which tests ran."""
    right: dict[tuple[str, Place], Reach] = {}
    wrong: dict[tuple[str, Place], Reach] = {}
    order: dict[tuple[str, Place], None] = {}
    for graded in gradings:
        for place, reach in _reaches(graded):
            key = graded.lab.name, place
            order.setdefault(key)
            share = reach.measured.share
            if graded.role in RIGHT_ROLES and (key not in right or share > _share(right[key])):
                right[key] = reach
            elif graded.role is Role.WRONG and share > 1:
                if key not in wrong or share < _share(wrong[key]):
                    wrong[key] = reach
    return [Margin(lab, *at, right.get((lab, at)), wrong.get((lab, at))) for lab, at in order]


def narrow(gradings: Iterable[Graded], margins: Iterable[Margin]) -> Iterator[Finding]:
    """Give a warning for each narrow margin, and a failure where nothing but one tells wrong."""
    for margin in margins:
        for reach, rule, wanted in (
            (margin.right, "right answers keep away from the limit", f"at most 1/{FACTOR:g} of it"),
            (margin.wrong, "wrong answers exceed the limit clearly", f"{FACTOR:g} times or more"),
        ):
            share = 0.0 if reach is None else reach.measured.share
            if 1 / FACTOR < share < FACTOR:
                name = f"{margin.suite} {margin.test}"
                yield Finding(margin.lab, rule, name, Outcome.WARNING, wanted, str(reach))
    for graded in gradings:
        if graded.role is Role.WRONG and graded.report is not None:
            yield from _hardly_lost(graded, graded.report)


def _hardly_lost(graded: Graded, report: Report) -> Iterator[Finding]:
    """Find the tasks of a wrong answer that it loses by numbers near their limits alone."""
    shares = {place: reach.measured.share for place, reach in _reaches(graded)}
    for task in sorted(graded.fails):
        lost_by = [test for test in report.tests if test.task == task and _failed(test)]
        evidence = [shares.get((test.suite, test.id), 0.0) for test in lost_by]
        # A test that failed though its numbers were within limits failed for another reason.
        clearest = max((share if share > 1 else math.inf for share in evidence), default=math.inf)
        if clearest < FACTOR:
            # Behind a gate that it failed hardly, other tests may tell it clearly.
            own = [test.verdict for test in report.tests if test.task == task]
            outcome = Outcome.WARNING if Verdict.SKIPPED in own else Outcome.FAILED
            got = f"at most {clearest:.2g} times the limit, in {len(lost_by)} tests"
            rule = f"{task} is lost clearly (seed {graded.seed})"
            wanted = f"{FACTOR:g} times the limit of a test, or another reason"
            yield Finding(graded.lab.name, rule, graded.file, outcome, wanted, got)


def _failed(test: TestResult) -> bool:
    return test.verdict not in (*RIGHT, Verdict.SKIPPED, Verdict.INFRA)


def _reaches(graded: Graded) -> Iterator[tuple[Place, Reach]]:
    for item in graded.measured:
        reach = Reach(graded.file, graded.seed, Measured(**item["closest"]))
        yield (item["suite"], item["test"]), reach


def _share(reach: Reach) -> float:
    return reach.measured.share
