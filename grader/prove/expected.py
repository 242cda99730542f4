"""The part of ``lab check`` that holds a report against what the submission should earn."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from grader.labs.lab import Lab
from grader.labs.results import RULES, Expected, Report, TaskResult, TestResult, Verdict
from grader.prove.findings import Finding, Outcome, verdict
from grader.prove.remembered.key import Key

SOLUTION_SECONDS = 30.0  # on two cores of its own
SHOWN_TESTS = 8
RIGHT = (Verdict.PASSED, Verdict.NOT_GRADED)  # verdicts of a right answer
_CLOSE = 1e-6  # points


class Role(StrEnum):
    """What a submission is to a lab."""

    STUB = "stub"
    SOLUTION = "solution"
    VARIANT = "variant"
    WRONG = "wrong"
    CONTROL = "control"


RIGHT_ROLES = (Role.SOLUTION, Role.VARIANT)


@dataclass(frozen=True, slots=True)
class Graded:
    """One grading that was made; ``report`` is None if it failed, ``failure`` says why."""

    lab: Lab
    role: Role
    file: str
    source: Path
    seed: int
    fails: frozenset[str]
    manifest: tuple[Expected, ...]
    asked: Mapping[str, Collection[str]]  # by task: the names that its tests called
    report: Report | None
    failure: str = ""
    crowd: float = 1.0  # gradings at a time for each two cores
    measured: Sequence[Mapping[str, Any]] = ()  # by test: what came closest to its limit
    tests: frozenset[str] = frozenset()  # the only ones that ran; none: all
    key: Key | None = None  # under which it may be remembered
    recalled: bool = False  # it was, and not made now


def judge(graded: Graded) -> Iterator[Finding]:
    """Give the findings of one grading."""
    report, lab = graded.report, graded.lab.name
    if report is None:
        yield verdict(lab, "can be graded", graded.file, graded.failure)
        return
    broken = [test for test in report.tests if test.verdict is Verdict.INFRA]
    if broken or report.partial:
        got = f"{len(broken)} tests broke in the judge" if broken else "the grading was cut off"
        yield verdict(lab, "the judge stays whole", graded.file, got, "", _messages(broken))
        return
    rules: dict[Role, Callable[[Graded, Report], Iterator[Finding]]] = {
        Role.STUB: _stub,
        Role.SOLUTION: _solution,
        Role.VARIANT: _variant,
        Role.WRONG: _wrong,
        Role.CONTROL: _control,
    }
    yield from rules[graded.role](graded, report)


def is_expected(graded: Graded) -> bool:
    """Tell whether all is as it should, so far as this machine can tell."""
    fine = (Outcome.OK, Outcome.NOT_CHECKED)
    return all(finding.outcome in fine for finding in judge(graded))


def _stub(graded: Graded, report: Report) -> Iterator[Finding]:
    passed = [test for test in report.tests if test.verdict is Verdict.PASSED]
    # A stub calls nothing, so it breaks no rule; a right to a point that is not.
    passed = [test for test in passed if test.suite != RULES]
    got = f"{report.score:g} points" if report.score else ""
    yield verdict(graded.lab.name, "stub earns 0", graded.file, got, "0 points")
    got = ", ".join(test.id for test in passed)
    yield verdict(graded.lab.name, "no test passes on the stub", graded.file, got)


def _solution(graded: Graded, report: Report) -> Iterator[Finding]:
    if graded.seed == 1:
        yield from _manifest(graded)
        yield _ungraded(graded, report)
    yield from _right(graded, report)
    seconds = report.provenance.get("seconds", 0.0)
    most = SOLUTION_SECONDS * graded.crowd
    if seconds > most:
        # No failure: the machine may be slow.
        got = f"{seconds:.0f} s under seed {graded.seed}"
        limit = f"at most {most:g} s"
        rule = "solution is graded in time"
        yield Finding(graded.lab.name, rule, graded.file, Outcome.WARNING, limit, got)


def _manifest(graded: Graded) -> Iterator[Finding]:
    gates = {test.task for test in graded.manifest if test.gate and test.suite != RULES}
    without = [task.id for task in graded.lab.tasks if task.id not in gates]
    got = f"none for {', '.join(without)}" if without else ""
    name = f"grader/suites/{graded.lab.hidden_suite.name}"
    yield verdict(graded.lab.name, "every task has a gate", name, got)
    public = any(test.suite == "public" for test in graded.manifest)
    name = f"labs/{graded.lab.name}/{graded.lab.public_suite.name}"
    yield verdict(graded.lab.name, "there are public tests", name, "" if public else "none")


def _ungraded(graded: Graded, report: Report) -> Finding:
    tasks = [task.id for task in report.tasks if not task.graded]
    rule, outcome = "every task is graded", Outcome.NOT_CHECKED if tasks else Outcome.OK
    got = f"not on this machine: {', '.join(tasks)}" if tasks else ""
    return Finding(graded.lab.name, rule, graded.file, outcome, got=got)


def _right(graded: Graded, report: Report, leaving: Collection[str] = ()) -> Iterator[Finding]:
    bad = [t for t in report.tests if t.verdict not in RIGHT and t.task not in leaving]
    tasks = [task for task in report.tasks if task.graded and task.id not in leaving]
    score, points = sum(task.score for task in tasks), sum(task.points for task in tasks)
    got = ""
    if bad or points - score > _CLOSE or not points:
        got = f"{score:g} of {points:g} points, {len(bad)} tests did not pass"
    rule = f"earns everything (seed {graded.seed})"
    expected = f"{points:g} points, every test passed"
    yield verdict(graded.lab.name, rule, graded.file, got, expected, _messages(bad))


def _variant(graded: Graded, report: Report) -> Iterator[Finding]:
    """Ask for all that is right or wrong. Only the solution must be fast: of others it is told."""
    races = {task.id for task in graded.lab.tasks if task.ladders}
    yield from _right(graded, report, leaving=races)
    for task in report.tasks:
        if task.id in races and task.graded and _lost(task):
            rule = f"reaches every tier of {task.id} (seed {graded.seed})"
            limit, got = f"{task.points:g} points", f"{task.score:g} points"
            yield Finding(graded.lab.name, rule, graded.file, Outcome.WARNING, limit, got)


def _wrong(graded: Graded, report: Report) -> Iterator[Finding]:
    tasks = [task for task in report.tasks if task.graded]
    lost = {task.id for task in tasks if _lost(task)}
    wanted = {task.id for task in tasks if task.id in graded.fails}
    rule = f"loses exactly what it should (seed {graded.seed})"
    if not wanted:
        got = f"this machine cannot grade {', '.join(sorted(graded.fails))}"
        yield Finding(graded.lab.name, rule, graded.file, Outcome.NOT_CHECKED, got=got)
        if not lost:
            return
    unsure = (wanted - lost) & _halved(graded, report)
    if unsure and lost <= wanted:
        got = f"this machine has too few GPUs for some tests of {_list(unsure)}"
        yield Finding(graded.lab.name, rule, graded.file, Outcome.NOT_CHECKED, got=got)
        if lost == wanted - unsure:
            return
    got = "" if lost == wanted else f"loses {_list(lost)}"
    odd = [test for test in report.tests if test.task in lost - wanted]
    bad = [test for test in odd if test.verdict not in (*RIGHT, Verdict.SKIPPED)]
    kept = tuple(f"  {name}: every test passes" for name in sorted(wanted - lost))
    details = kept + _messages(bad)
    yield verdict(graded.lab.name, rule, graded.file, got, f"loses {_list(wanted)}", details)


def _halved(graded: Graded, report: Report) -> set[str]:
    """Return the tasks that fewer GPUs than the lab has ranks can grade in part only."""
    if report.provenance.get("device") != "cuda" or graded.lab.limits.ranks == 1:
        return set()
    return {test.task for test in report.tests if test.verdict is Verdict.NOT_GRADED}


def _lost(task: TaskResult) -> bool:
    return task.score < task.points - _CLOSE


def _control(graded: Graded, report: Report) -> Iterator[Finding]:
    earned = [f"{task.id} {task.score:g}" for task in report.tasks if task.score > _CLOSE]
    tasks = {task.id for task in report.tasks if task.score > _CLOSE}
    passed = [
        f"  {test.id} passed"
        for test in report.tests
        if test.task in tasks and test.verdict is Verdict.PASSED and test.suite != RULES
    ]
    got = f"earns {', '.join(earned)}" if earned else ""
    rule = "negative control earns nothing"
    yield verdict(graded.lab.name, rule, graded.file, got, "0 points", tuple(passed[:SHOWN_TESTS]))


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _messages(tests: list[TestResult]) -> tuple[str, ...]:
    lines: list[str] = []
    for test in tests[:SHOWN_TESTS]:
        lines.append(f"  {test.suite} {test.id} ({test.task}): {test.verdict}")
        lines += [f"    {line}" for line in test.message.splitlines()[:4]]
    more = len(tests) - SHOWN_TESTS
    return tuple([*lines, f"  and {more} more"] if more > 0 else lines)
