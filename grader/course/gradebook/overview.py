"""What a class did in a lab, counted: points, tasks, the tests that failed most, times."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.course.database.records import Likeness
from grader.course.gradebook.charts import Solved
from grader.course.gradebook.gradebook import Gradebook
from grader.course.likeness.clusters import Cluster, clusters
from grader.labs.lab import PSEUDOCODE
from grader.labs.manual import PEOPLE
from grader.labs.results import RULES, Report, Verdict
from grader.report.facts.stored import report_of
from grader.report.facts.summary import AT_FAULT, is_stub, summarize
from grader.text import first_line

MOST_FAILED = 10
NO_WORDS = "no message"


@dataclass(frozen=True, slots=True)
class Failing:
    """A test that many failed; ``message`` is what most of them were told."""

    test: str
    task: str
    students: int
    message: str
    told: int  # how many were told just that


@dataclass(frozen=True, slots=True)
class Tried:
    """A test, and what became of it in the attempts that count."""

    test: str
    task: str
    passed: int
    failed: int
    other: int  # waited for another one, or could not be judged


@dataclass(frozen=True, slots=True)
class Overview:
    """One lab of a class. Points and seconds are of the attempts that count."""

    lab: str
    students: int
    points: Sequence[float]  # marks, of all who have one
    untouched: int  # handed in what they were given
    unreadable: int  # handed in what is no Python
    missing: int  # without a mark
    unread: int  # of these, whose work waits for a reader
    tasks: Sequence[Solved]
    failing: Sequence[Failing]
    tests: Sequence[Tried]
    seconds: Sequence[float]
    likenesses: Sequence[Likeness]
    clusters: Sequence[Cluster]  # of these, what a person should look at first

    @property
    def points_line(self) -> str:
        """Mean, median and who is missing."""
        waiting = [f"{self.unread} waiting for a reader"] if self.unread else []
        if not self.points:
            return "; ".join([f"nobody of {self.students} has a mark", *waiting])
        mean, middle = statistics.fmean(self.points), statistics.median(self.points)
        parts = [f"{len(self.points)} of {self.students} have a mark"]
        parts += [f"mean {mean:.1f}, median {middle:.1f}"]
        parts += waiting
        parts += [f"{self.untouched} handed in the stub as it was"] if self.untouched else []
        parts += [f"{self.unreadable} a file that cannot be read"] if self.unreadable else []
        return "; ".join(parts)

    @property
    def seconds_line(self) -> str:
        """Median and longest time of a grading."""
        if not self.seconds:
            return ""
        middle, longest = statistics.median(self.seconds), max(self.seconds)
        return f"median {middle:.1f} s, longest {longest:.1f} s, {sum(self.seconds):.0f} s in all"


def overview(book: Gradebook, lab: str) -> Overview:
    """Count what the class did in a lab."""
    marks = [book.marks[student.id, lab] for student in book.students]
    counted = [a for mark in marks if (a := mark.attempt) is not None and a.suite != PEOPLE]
    reports = [report_of(attempt.report) for attempt in counted]
    readable = [report for report in reports if not _is_unreadable(report)]
    begun = [report for report in readable if not is_stub(report)]
    points = [mark.points for mark in marks if mark.points is not None]
    alike = [item for item in book.likenesses if item.lab == lab]
    return Overview(
        lab=lab,
        students=len(marks),
        points=points,
        untouched=len(readable) - len(begun),
        unreadable=len(reports) - len(readable),
        missing=len(marks) - len(points),
        unread=sum(mark.is_unread for mark in marks),
        tasks=_tasks(reports),
        failing=_failing(begun),
        tests=_tried(reports),
        seconds=[attempt.seconds for attempt in counted],
        likenesses=alike,
        clusters=clusters(alike),
    )


def _tasks(reports: Iterable[Report]) -> list[Solved]:
    found: dict[str, Counter[str]] = {}
    for report in reports:
        for task in report.tasks:
            counts = found.setdefault(task.id, Counter())
            if task.graded:
                full = task.score >= task.points
                counts["all" if full else "some" if task.score > 0 else "none"] += 1
    return [Solved(name, c["all"], c["some"], c["none"]) for name, c in found.items() if c]


def _failing(reports: Iterable[Report]) -> list[Failing]:
    told: dict[tuple[str, str], Counter[str]] = {}
    for report in reports:
        for key, message in _failures(report).items():
            told.setdefault(key, Counter())[message] += 1
    found = [_most_told(*key, counts) for key, counts in told.items()]
    return sorted(found, key=lambda item: (-item.students, item.task, item.test))[:MOST_FAILED]


def _failures(report: Report) -> Mapping[tuple[str, str], str]:
    """Task, test and message of what failed, in the tasks of code that were begun."""
    return {
        (part.task.id, test.id): first_line(test.message) or NO_WORDS
        for part in summarize(report)
        if not part.untouched and part.task.id != PSEUDOCODE
        for test in part.tests
        if test.verdict in AT_FAULT
    }


def _is_unreadable(report: Report) -> bool:
    """True if the rules could not be read out of the file: then no test was run."""
    return any(test.suite == RULES and test.verdict is Verdict.ERROR for test in report.tests)


def _tried(reports: Iterable[Report]) -> list[Tried]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for report in reports:
        for test in report.tests:
            if test.task != PSEUDOCODE and test.suite != RULES:
                kind = "failed" if test.verdict in AT_FAULT else "other"
                kind = "passed" if test.verdict is Verdict.PASSED else kind
                counts.setdefault((test.task, test.id), Counter())[kind] += 1
    return [
        Tried(test, task, told["passed"], told["failed"], told["other"])
        for (task, test), told in counts.items()
    ]


def _most_told(task: str, test: str, counts: Counter[str]) -> Failing:
    message, times = counts.most_common(1)[0]
    return Failing(test, task, counts.total(), message, times)
