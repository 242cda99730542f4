"""What every form of a report says: counts per task, the first failure of each, and notices."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from grader.lab import PSEUDOCODE
from grader.results import Report, TaskResult, TestResult, Verdict
from grader.text import first_line, number

ISOLATED = "bwrap"
INSTALL_BUBBLEWRAP = (
    "install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap "
    "(Fedora) or pacman -S bubblewrap (Arch); `lab doctor` then tries it"
)
AT_FAULT = frozenset(
    {Verdict.FAILED, Verdict.ERROR, Verdict.TIMEOUT, Verdict.MEMORY, Verdict.CRASHED}
)
# Verdicts in the order in which counts are listed.
SHOWN_AS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.ERROR: "raised an error",
    Verdict.TIMEOUT: "timed out",
    Verdict.MEMORY: "ran out of memory",
    Verdict.CRASHED: "crashed",
    Verdict.SKIPPED: "waiting",
    Verdict.NOT_GRADED: "not graded",
    Verdict.INFRA: "could not be judged",
}


# Counts stand in a narrow column.
COUNTED_AS = SHOWN_AS | {
    Verdict.ERROR: "raised",
    Verdict.MEMORY: "out of memory",
    Verdict.INFRA: "not judged",
}


class Level(StrEnum):
    """How loudly a notice is shown."""

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader must know before believing the points."""

    level: Level
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task with the verdicts of its tests; ``first`` is the failure to explain."""

    task: TaskResult
    tests: tuple[TestResult, ...]
    counts: Mapping[Verdict, int]
    first: TestResult | None

    @property
    def lost(self) -> bool:
        """True if the task could be judged and points are missing."""
        return self.task.graded and self.task.score < self.task.points

    @property
    def untouched(self) -> bool:
        """True if the task is still the stub's."""
        return (
            self.first is not None
            and "NotImplementedError" in self.first.message[:2000]
            and not any(_shows_work(test) for test in self.tests)
        )

    @property
    def waiting(self) -> bool:
        """True if nothing of the task ran, because another task has to pass first."""
        return self.first is not None and self.first.verdict is Verdict.SKIPPED

    @property
    def counted(self) -> str:
        """For example "5 passed, 2 failed"."""
        found = [verdict for verdict in COUNTED_AS if self.counts.get(verdict)]
        return ", ".join(f"{self.counts[verdict]} {COUNTED_AS[verdict]}" for verdict in found)

    @property
    def not_graded_because(self) -> str:
        """Why this machine could not judge the task (or part of it)."""
        for test in self.tests:
            if test.verdict is Verdict.NOT_GRADED and test.message.strip():
                return first_line(test.message).rstrip(".")
        if self.counts.get(Verdict.INFRA):
            return "the judge could not test it"
        if not self.tests:
            return "no test of it has reported"
        return "this machine lacks what the tests need"


def summarize(report: Report) -> tuple[TaskSummary, ...]:
    """One summary per task, in the order of the lab."""
    return tuple(_summary(task, report) for task in report.tasks)


def _summary(task: TaskResult, report: Report) -> TaskSummary:
    tests = tuple(test for test in report.tests if test.task == task.id)
    # A skipped test only says that another one failed, so it explains a task last.
    failures = [test for test in tests if test.verdict in AT_FAULT]
    skipped = [test for test in tests if test.verdict is Verdict.SKIPPED]
    return TaskSummary(
        task=task,
        tests=tests,
        counts=Counter(test.verdict for test in tests),
        first=next(iter(failures + skipped), None),
    )


def _shows_work(test: TestResult) -> bool:
    """True for a pass that takes an answer; an empty stub breaks no rule and has its sections."""
    return test.verdict is Verdict.PASSED and test.suite in ("hidden", "public")


def is_stub(report: Report) -> bool:
    """True if the student has not begun: no test passes and no task was attempted.

    The pseudocode task is no sign: unanswered prompts fail, they raise nothing.
    """
    parts = summarize(report)
    begun = [p for p in parts if p.first and not p.untouched and p.task.id != PSEUDOCODE]
    return (
        any(part.untouched and part.lost for part in parts)
        and all(part.waiting for part in begun)
        and not any(_shows_work(test) for test in report.tests)
    )


def score_line(report: Report) -> str:
    """For example "71.5 of 75 points graded here (100 in all)"."""
    score, graded, total = number(report.score), number(report.graded), number(report.total)
    if report.graded == report.total:
        return f"{score} of {total} points"
    return f"{score} of {graded} points graded here ({total} in all)"


def notices(report: Report) -> tuple[Notice, ...]:
    """Partial, infra, not isolated and not graded, in this order; empty for a plain grading."""
    found = [_partial(report), _infra(report), _not_isolated(report), *_not_graded(report)]
    return tuple(notice for notice in found if notice is not None)


def _partial(report: Report) -> Notice | None:
    if not report.partial:
        return None
    return Notice(
        Level.WARNING,
        f"Partial report: the grading was cut off after {len(report.tests)} tests; "
        "the points are not final.",
        "grade again to get the rest",
    )


def _infra(report: Report) -> Notice | None:
    broken = sum(test.verdict is Verdict.INFRA for test in report.tests)
    if not broken:
        return None
    return Notice(
        Level.WARNING,
        f"{broken} of {len(report.tests)} tests could not be judged (infra): a fault of the "
        "judge or of this machine, which costs no points.",
        "run `lab doctor`, then grade again",
    )


def _not_isolated(report: Report) -> Notice | None:
    if report.provenance.get("sandbox") == ISOLATED:
        return None
    why = str(report.provenance.get("not_isolated", ""))
    if "asked for" in why:
        hint = "leave out --sandbox none to have it confined"
    elif "does not" in why:
        hint = "run `lab doctor`: it says what bubblewrap lacks here"
    else:
        hint = INSTALL_BUBBLEWRAP
    text = "Not isolated: the submission ran without a sandbox, with the rights of this account"
    return Notice(Level.WARNING, f"{text}{f' ({why})' if why else ''}.", hint)


def _not_graded(report: Report) -> list[Notice]:
    return [
        Notice(
            Level.NOTE,
            f"{part.task.id}: {number(part.task.points)} points not graded here: "
            f"{part.not_graded_because}.",
        )
        for part in summarize(report)
        if not part.task.graded
    ]
