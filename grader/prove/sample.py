"""What a day tries: a sample the whole way too, and of much that is alike a part.

What was graded the quick way must come to the same the whole way. The date draws both, so that each
day tries others and any day can be repeated.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date as Date

from grader.labs.results import Report
from grader.prove.expected import RIGHT_ROLES, SHOWN_TESTS, Graded, Role
from grader.prove.findings import Finding, Outcome, verdict
from grader.prove.trials import Trial

ONE_IN = 25
DRAWN = (Role.VARIANT, Role.WRONG)  # of which a day may leave some to others


def lot(date: str, *names: str) -> int:
    """Return the number that a day draws for what has these names."""
    text = "\0".join((date, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def draw(trials: Sequence[Trial], date: str) -> frozenset[int]:
    """Return the places of the day's sample: of each lab a right and a wrong answer at least."""
    chosen: set[int] = set()
    least: dict[tuple[str, str], tuple[int, int]] = {}  # lot and place, by lab and kind
    for place, trial in enumerate(trials):
        if trial.seed != 1:
            continue  # a file has one lot
        drawn = lot(date, trial.lab.name, trial.file)
        if drawn % ONE_IN == 0:
            chosen.add(place)
        if trial.role is Role.WRONG or trial.role in RIGHT_ROLES:
            key = trial.lab.name, "wrong" if trial.role is Role.WRONG else "right"
            least[key] = min(least.get(key, (drawn, place)), (drawn, place))
    return frozenset(chosen | {place for _, place in least.values()})


def turns(groups: Sequence[str], date: str, share: int) -> list[bool]:
    """Tell whose turn it is: of each group one in ``share``, others each day, and never none.

    A group is what stands at the places that name it; in ``share`` days each place has a turn.
    """
    sizes, before = Counter(groups), Counter[str]()
    today = Date.fromisoformat(date).toordinal()
    due: list[bool] = []
    for group in groups:
        due.append((before[group] + today) % min(share, sizes[group]) == 0)
        before[group] += 1
    return due


def of_the_day(trials: Sequence[Trial], date: str, share: int) -> list[Trial]:
    """Leave out one lab's variants, and its wrong answers, but one in ``share``."""
    groups = {
        (trial.lab.name, trial.file): f"{trial.role} {trial.lab.name}"
        for trial in trials
        if trial.role in DRAWN
    }  # a file has one turn, whatever the number of seeds
    due = {*itertools.compress(groups, turns([*groups.values()], date, share))}
    return [
        trial for trial in trials if trial.role not in DRAWN or (trial.lab.name, trial.file) in due
    ]


def compare(quick: Graded, whole: Graded) -> Finding:
    """Hold two gradings of one file against each other: each test's verdict, each task's score.

    A wrong answer may read what lies beyond its memory, or stand at a deadline, so that a test
    differs by chance: that is a warning, as long as it loses the same tasks.
    """
    details = tuple(_differences(quick, whole))
    got = f"they differ in {len(details)} places" if details else ""
    shown = details[:SHOWN_TESTS]
    if more := len(details) - len(shown):
        shown = (*shown, f"  and {more} more")
    rule = f"is graded alike both ways (seed {quick.seed})"
    found = verdict(quick.lab.name, rule, quick.file, got, "the same verdicts and scores", shown)
    if details and quick.role is Role.WRONG and _lost(quick) == _lost(whole) is not None:
        return replace(found, outcome=Outcome.WARNING)
    return found


def _lost(graded: Graded) -> frozenset[str] | None:
    """Return the tasks that lost points; None where there is no report."""
    tasks = graded.report.tasks if graded.report is not None else None
    return None if tasks is None else frozenset(t.id for t in tasks if t.score < t.points)


def _differences(quick: Graded, whole: Graded) -> Iterator[str]:
    ours, theirs = _facts(quick), _facts(whole)
    for name in dict.fromkeys((*theirs, *ours)):
        if ours.get(name) != theirs.get(name):
            forked, confined = ours.get(name, "nothing"), theirs.get(name, "nothing")
            yield f"  {name}: {forked} the quick way, {confined} the whole way"


def _facts(graded: Graded) -> dict[str, str]:
    report = graded.report
    return {"grading": graded.failure} if report is None else _said(report)


def _said(report: Report) -> dict[str, str]:
    tests = {f"{test.suite} {test.id} ({test.task})": str(test.verdict) for test in report.tests}
    scores = {
        f"score of {task.id}": f"{task.score:.6f}" if task.graded else "not graded"
        for task in report.tasks
    }
    return tests | scores
