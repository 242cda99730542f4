"""Item analysis of a lab: each contract and each test by who failed it, and how telling it is.

A test is one item whatever it was tried with: who failed one of its cases has failed it. Counted is
the attempt that counts for a student's mark, in the tasks of code that the student has begun.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from grader.course.database.records import Attempt
from grader.course.gradebook.gradebook import Gradebook
from grader.labs.lab import PSEUDOCODE
from grader.labs.results import RULES, Report, State, TestResult, Verdict
from grader.report.facts.stored import report_of
from grader.report.facts.summary import AT_FAULT, summarize
from grader.text import first_line

FEWEST = 10  # students of whom a correlation says anything
HOUR_SECONDS = 3600.0
NO_WORDS = "no message"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PUBLIC = "public"  # the suite that students have


class Kind(StrEnum):
    """What an item is."""

    CONTRACT = "contract"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Key:
    """One item of a lab: a contract by its number, or a test by its name without parameters."""

    kind: Kind
    task: str
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one item in a class."""

    key: Key
    says: str  # what the contract promises; "" of a test
    passed: Sequence[str]  # students
    missed: Mapping[str, str]  # what each student was told who failed it
    hours: Sequence[float]  # from a student's first attempt to the first that passed it
    discrimination: float | None  # -1 to 1: how far who passes it passes the others too

    @property
    def tried(self) -> int:
        """Of how many students it was judged."""
        return len(self.passed) + len(self.missed)

    @property
    def rate(self) -> float:
        """The share of them who passed: 1 is the easiest."""
        return len(self.passed) / self.tried

    @property
    def told(self) -> tuple[str, int]:
        """The line that most were told who failed, and how many; numbers in it aside."""
        alike: dict[str, list[str]] = {}
        for told in self.missed.values():
            alike.setdefault(NUMBER.sub("0", told), []).append(told)
        most = max(alike.values(), key=len, default=[])
        return (most[0], len(most)) if most else ("", 0)

    @property
    def median_hours(self) -> float | None:
        """The median of the hours; None if nobody passed."""
        return statistics.median(self.hours) if self.hours else None


@dataclass(frozen=True, slots=True)
class Gap:
    """How a student did in tests that students have, and in those that only the judge has."""

    student: str
    public: float  # share passed, 0 to 1
    hidden: float

    @property
    def size(self) -> float:
        """How much worse the hidden ones went."""
        return self.public - self.hidden


def items_of(book: Gradebook, lab: str) -> list[Item]:
    """Return the contracts and tests of a lab that anybody was tried in, most failed first."""
    outcomes: dict[Key, dict[str, str]] = {}  # by student what was said, "" if it was passed
    says: dict[Key, str] = {}
    hours: dict[Key, list[float]] = {}
    for student in book.students:
        counted = book.marks[student.id, lab].attempt
        if counted is None:
            continue
        report = report_of(counted.report)
        says |= {_contract(c.task, c.number): c.says for c in report.contracts}
        for key, told in _outcomes(report).items():
            outcomes.setdefault(key, {})[student.id] = told
        for key, taken in _hours(book.attempts.get((student.id, lab), ())).items():
            hours.setdefault(key, []).append(taken)
    telling = _discrimination(outcomes)
    found = [
        Item(
            key=key,
            says=says.get(key, ""),
            passed=[student for student, told in by_student.items() if not told],
            missed={student: told for student, told in by_student.items() if told},
            hours=hours.get(key, ()),
            discrimination=telling[key],
        )
        for key, by_student in outcomes.items()
    ]
    return sorted(found, key=lambda i: (-len(i.missed), i.key.task, i.key.kind, i.key.name))


def gaps_of(book: Gradebook, lab: str) -> list[Gap]:
    """Return how public and hidden tests went for each student, the widest gap first."""
    found: list[Gap] = []
    for student in book.students:
        counted = book.marks[student.id, lab].attempt
        if counted is None:
            continue
        tests = _begun(report_of(counted.report))
        public = _share(test for test in tests if test.suite == PUBLIC)
        hidden = _share(test for test in tests if test.suite != PUBLIC)
        if public is not None and hidden is not None:
            found.append(Gap(student.id, public, hidden))
    return sorted(found, key=lambda gap: (-gap.size, gap.student))


def _share(tests: Iterable[TestResult]) -> float | None:
    passed = [test.verdict is Verdict.PASSED for test in tests if _is_judged(test)]
    return statistics.fmean(passed) if passed else None


def _is_judged(test: TestResult) -> bool:
    return test.verdict is Verdict.PASSED or test.verdict in AT_FAULT


def _begun(report: Report) -> list[TestResult]:
    """Return the tests of those tasks of code that are not as they were given out."""
    return [
        test
        for part in summarize(report)
        if not part.untouched and part.task.id != PSEUDOCODE
        for test in part.tests
        if test.suite != RULES
    ]


def _outcomes(report: Report) -> dict[Key, str]:
    """Return what became of each item that was judged: "" passed, else what was said."""
    found: dict[Key, str] = {}
    for test in filter(_is_judged, _begun(report)):
        told = "" if test.verdict is Verdict.PASSED else first_line(test.message) or NO_WORDS
        key = Key(Kind.TEST, test.task, test.id.partition("[")[0])
        found[key] = found.get(key) or told
        if told and test.contract:
            found.setdefault(_contract(test.task, test.contract), told)
    begun = {key.task for key in found}
    for contract in report.contracts:
        if contract.task in begun and contract.state is State.HOLDS:
            found[_contract(contract.task, contract.number)] = ""
    return found


def _contract(task: str, number: int) -> Key:
    return Key(Kind.CONTRACT, task, str(number))


def _hours(attempts: Sequence[Attempt]) -> dict[Key, float]:
    """Return after how many hours each item was passed for the first time, by when work came."""
    dated = sorted((_when(attempt), place) for place, attempt in enumerate(attempts))
    found: dict[Key, float] = {}
    for moment, place in dated:
        passed_after = (moment - dated[0][0]).total_seconds() / HOUR_SECONDS
        for key, told in _outcomes(report_of(attempts[place].report)).items():
            if not told:
                found.setdefault(key, passed_after)
    return found


def _when(attempt: Attempt) -> datetime:
    return attempt.submitted or attempt.graded


def _discrimination(outcomes: Mapping[Key, Mapping[str, str]]) -> dict[Key, float | None]:
    """Correlate each item with the share passed of all others of its kind and other tasks' too.

    That is the corrected item-total correlation of classical test theory.
    """
    passed: dict[Kind, Counter[str]] = {kind: Counter() for kind in Kind}
    tried: dict[Kind, Counter[str]] = {kind: Counter() for kind in Kind}
    for key, by_student in outcomes.items():
        tried[key.kind].update(by_student.keys())
        passed[key.kind].update(student for student, told in by_student.items() if not told)
    found: dict[Key, float | None] = {}
    for key, by_student in outcomes.items():
        pairs = [
            (float(not told), (passed[key.kind][student] - (not told)) / others)
            for student, told in by_student.items()
            if (others := tried[key.kind][student] - 1)
        ]
        found[key] = _correlation(pairs)
    return found


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's; None of few, and where all are alike."""
    if len(pairs) < FEWEST:
        return None
    try:
        return statistics.correlation(*zip(*pairs, strict=True))
    except statistics.StatisticsError:
        return None
