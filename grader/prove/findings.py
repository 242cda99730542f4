"""What ``lab check`` is asked for and what it found, as frozen data."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from grader.labs.results import Measured, Report, TestResult

FACTOR = 3.0  # what should lie between an answer and a limit
OnProgress = Callable[[int, int, str], None]  # gradings done, gradings in all, what ended last


class Outcome(StrEnum):
    """How one rule of one file came out."""

    OK = "ok"
    FAILED = "failed"
    WARNING = "warning"  # shown, never an error
    NOT_CHECKED = "not checked"  # this machine lacks what the check needs


@dataclass(frozen=True, slots=True)
class Proof:
    """What of some labs is to be proven, and how.

    ``only`` are patterns of what to grade (``wrong/tied*``, ``field/*``, ``solution``, ``stub``,
    ``variants/*``, ``controls/*``); with one, files are not checked and nothing else is graded.
    ``brief`` grades only those tasks of a wrong answer that it should lose, ``whole`` all of them,
    also those whose code is that of a right answer which has passed in this check. What is graded
    both ways is drawn by ``sample_date``; without one by today's, and with ``only`` not at all.
    Of a lab's variants and of its wrong answers one in ``share`` is graded, those whose turn it is
    on that day. After ``within`` seconds no more of them are begun: a slow machine proves less.
    ``margins`` measures how far answers stay from limits: then no test of a lost task is left out,
    and operators are tried at the ends of their inputs.
    ``public`` grades wrong answers alone, by the tests that students have, and tells which of them
    these catch; ``messages`` prints what a student would see first of each.
    ``mutants`` grades the mutants of labs instead, with ``sample`` so many of each.
    ``anew`` grades also what was proven before, by the same files.
    """

    jobs: int = 2  # gradings at a time
    seeds: int = 2  # of a right answer
    wrong_seeds: int = 1
    device: str = "auto"
    sandbox: str = "auto"
    only: tuple[str, ...] = ()
    brief: bool = False
    whole: bool = False
    sample_date: str = ""
    share: int = 1
    within: float = math.inf
    margins: bool = False
    public: bool = False
    messages: bool = False
    mutants: bool = False
    sample: int = 0  # of a lab's mutants; 0: all
    anew: bool = False

    @property
    def measures(self) -> bool:
        """Whether more is asked than what a grading comes to, which alone can be remembered."""
        return self.margins or self.public

    @property
    def day(self) -> str:
        """The day whose sample is drawn: today unless another is named."""
        return self.sample_date or f"{datetime.now(UTC):%Y-%m-%d}"

    @property
    def crowd(self) -> float:
        """How many times longer a grading may take, for all that go on beside it."""
        return max(1.0, 2 * self.jobs / len(os.sched_getaffinity(0)))


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule held against one file; ``details`` are lines such as a failed test's message."""

    lab: str  # "01_llama"
    rule: str
    file: str  # "solutions/01_llama/wrong/x.py"
    outcome: Outcome
    expected: str = ""
    got: str = ""
    details: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Say it for people: the file and rule, then what was expected and what came."""
        head = f"{self.file}: {self.rule}: {self.outcome}"
        pairs = (("expected", self.expected), ("got", self.got))
        return [head, *(f"  {name}: {text}" for name, text in pairs if text), *self.details]


@dataclass(frozen=True, slots=True)
class Reach:
    """What one answer came to in one test that compares numbers."""

    file: str
    seed: int
    measured: Measured

    def __str__(self) -> str:
        found = self.measured
        return (
            f"{found.share:.2g} of the limit {found.limit:.1e} ({found.by}, {found.what}),"
            f" {self.file}, seed {self.seed}"
        )


@dataclass(frozen=True, slots=True)
class Margin:
    """The two answers nearest to the limit of a test: a right one, a wrong one that it rejects."""

    lab: str
    suite: str
    test: str
    right: Reach | None
    wrong: Reach | None

    @property
    def is_narrow(self) -> bool:
        """Tell whether an answer is within a factor of 3 of the limit, on either side."""
        near = self.right is not None and self.right.measured.share > 1 / FACTOR
        return near or (self.wrong is not None and self.wrong.measured.share < FACTOR)


@dataclass(frozen=True, slots=True)
class End:
    """What a form of an operator came to at an end of its inputs, as a share of the limit."""

    operator: str
    form: str
    end: str
    share: float


@dataclass(frozen=True, slots=True)
class Ends:
    """Of one operator: how many honest forms were tried, the worst of them, the best lossy one."""

    forms: int
    honest: End
    lossy: End

    @property
    def is_narrow(self) -> bool:
        """Tell whether a form is within a factor of 3 of the limit, on either side."""
        return self.honest.share > 1 / FACTOR or self.lossy.share < FACTOR

    @property
    def holds(self) -> bool:
        """Tell whether honest forms keep the limit and lossy ones break it."""
        return self.honest.share <= 1 < self.lossy.share


@dataclass(frozen=True, slots=True)
class Catch:
    """A wrong answer, and the first public test that it fails, if there is one."""

    lab: str
    file: str
    first: TestResult | None


@dataclass(frozen=True, slots=True)
class Loss:
    """What a wrong answer loses of one task, as a share of the task's points."""

    lab: str
    file: str
    task: str
    share: float


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a lab's mutants; those that are equal have a reason in its solutions."""

    lab: str
    mutants: int  # that there are
    killed: int = 0
    equal: int = 0
    left: int = 0  # survivors without a reason
    idle: int = 0  # in functions that run nowhere here

    @property
    def tried(self) -> int:
        """How many were judged: graded, or reached by no test."""
        return self.killed + self.equal + self.left


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings, in the order of labs, rules and files."""

    findings: tuple[Finding, ...]
    margins: tuple[Margin, ...] = ()  # if they were asked for
    ends: tuple[Ends, ...] = ()  # the same
    catches: tuple[Catch, ...] = ()  # if only public tests were run
    losses: tuple[Loss, ...] = ()
    wrong: tuple[tuple[str, str, Report], ...] = ()  # lab and file of each wrong answer
    mutants: tuple[Tried, ...] = ()  # if they were asked for
    gradings: int = 0
    recalled: int = 0  # of them, not made now
    late: int = 0  # that were due, and not begun in time

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The findings that a lab's author must mend."""
        return tuple(item for item in self.findings if item.outcome is Outcome.FAILED)

    @property
    def exit_code(self) -> int:
        """0 if every lab is proven and every operator holds its limit, else 1."""
        return 1 if self.failed or not all(ends.holds for ends in self.ends) else 0


def verdict(
    lab: str, rule: str, file: str, problem: str, expected: str = "", details: tuple[str, ...] = ()
) -> Finding:
    """Make a finding: OK without a problem, else FAILED with the problem as what was got."""
    if not problem:
        return Finding(lab, rule, file, Outcome.OK)
    return Finding(lab, rule, file, Outcome.FAILED, expected, problem, details)
