"""What a grading produced, as frozen data, and its JSON form (DESIGN: report schema 1)."""

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

SCHEMA = 1
MOST_POINTS = 200  # of one line of a plot

MANUAL = "manual"  # of a lab or a report whose points people alone give
RULES = "rules"  # the suite of what is judged without running it


class Verdict(StrEnum):
    """The outcome of one test. The first six are about the submission."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    SKIPPED = "skipped"
    NOT_GRADED = "not_graded"
    INFRA = "infra"

    @property
    def counts(self) -> bool:
        """True if the test stays in the denominator of its task."""
        return self not in (Verdict.NOT_GRADED, Verdict.INFRA)


@dataclass(frozen=True, slots=True)
class Expected:
    """One line of the manifest: a test that must report."""

    id: str
    task: str
    suite: str  # "hidden", "public", "rules" or "pseudocode"
    weight: float = 1.0
    gate: bool = False
    contract: int = 0  # the number of the contract that it tests; 0: none, it stands for itself

    @property
    def place(self) -> str:
        """Its suite and id: an id alone may stand in two suites."""
        return f"{self.suite} {self.id}"


@dataclass(frozen=True, slots=True)
class TestResult:
    """The verdict on one test; ``message`` may hold text of the student: escape it when shown."""

    __test__ = False

    id: str
    task: str
    suite: str
    verdict: Verdict
    message: str = ""
    seconds: float = 0.0
    output: str = ""  # what the submission printed meanwhile, cut
    contract: int = 0
    function: str = ""  # of a failed test: the public name that its last call was about
    halves: bool = False  # what it found, a GPU does not forgive: its task earns half at most

    @property
    def place(self) -> str:
        """Its suite and id, as ``Expected`` has it."""
        return f"{self.suite} {self.id}"


@dataclass(frozen=True, slots=True)
class Measured:
    """One comparison by numbers: an error beside its limit. No report holds it."""

    what: str
    by: str  # "each" value of a tensor, a tensor as a "whole", or a single "number"
    error: float  # of a value in typical sizes, of a whole relative to it, of a number as it is
    limit: float

    @property
    def share(self) -> float:
        """The error as a share of the limit: what is more than 1 fails."""
        if not self.limit:
            return math.inf if self.error else 0.0
        return self.error / self.limit


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Points of one task. ``graded`` is False where this machine could judge none of its tests."""

    id: str
    title: str
    points: float
    score: float
    graded: bool


class State(StrEnum):
    """How a contract came out."""

    HOLDS = "holds"
    BROKEN = "broken"
    WAITING = "waiting"  # nothing broke it, but a gate kept some of its tests from running
    UNTRIED = "untried"  # no test of it ran here that counts


@dataclass(frozen=True, slots=True)
class ContractResult:
    """One contract of a task, and what it earned of the task's points."""

    number: int
    task: str
    says: str
    state: State
    points: float  # 0 where nothing of it could be judged here
    score: float


@dataclass(frozen=True, slots=True)
class Report:
    """One grading of one submission."""

    lab: int
    topic: str
    tasks: tuple[TaskResult, ...]
    tests: tuple[TestResult, ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    partial: bool = False  # the grading was cut off; unreported tests are missing
    extras: dict[str, Any] = field(default_factory=dict)  # reported, never scored
    contracts: tuple[ContractResult, ...] = ()

    @property
    def is_manual(self) -> bool:
        """Whether people alone give the points."""
        return self.extras.get("grading") == MANUAL

    @property
    def score(self) -> float:
        """Points earned."""
        return round(sum(task.score for task in self.tasks), 4)

    @property
    def graded(self) -> float:
        """Points that this machine could judge."""
        return round(sum(task.points for task in self.tasks if task.graded), 4)

    @property
    def total(self) -> float:
        """Points of the lab, 100 by contract."""
        return round(sum(task.points for task in self.tasks), 4)

    def of_tasks(self, tasks: Collection[str]) -> Self:
        """What the report says of some tasks alone."""
        return replace(
            self,
            tasks=tuple(task for task in self.tasks if task.id in tasks),
            tests=tuple(test for test in self.tests if test.task in tasks),
            contracts=tuple(each for each in self.contracts if each.task in tasks),
        )

    @property
    def exit_code(self) -> int:
        """0 all graded tests passed, 1 some did not, 3 something of ours broke."""
        verdicts = {test.verdict for test in self.tests}
        if Verdict.INFRA in verdicts or self.partial:
            return 3
        return 0 if verdicts <= {Verdict.PASSED, Verdict.NOT_GRADED} else 1

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-ready data: the agreed keys, then what was added to them."""
        return {
            "schema": SCHEMA,
            "lab": self.lab,
            "topic": self.topic,
            "score": self.score,
            "graded": self.graded,
            "total": self.total,
            "tasks": [asdict(task) for task in self.tasks],
            "tests": [asdict(test) for test in self.tests],
            "provenance": self.provenance,
            "partial": self.partial,
            "extras": self.extras,
            "contracts": [asdict(contract) for contract in self.contracts],
        }
