"""What every form of a report says of a task: counts, and the first failure."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.labs.lab import PSEUDOCODE
from grader.labs.results import RULES, Report, TaskResult, TestResult, Verdict
from grader.languages.language import labelled, say, word
from grader.report.facts.measured import text_of
from grader.text import first_line, number, visible_line

AT_FAULT = frozenset(
    {Verdict.FAILED, Verdict.ERROR, Verdict.TIMEOUT, Verdict.MEMORY, Verdict.CRASHED}
)
# Verdicts in the order in which counts are listed.
SHOWN_AS = {
    Verdict.PASSED: word("passed"),
    Verdict.FAILED: word("failed"),
    Verdict.ERROR: "raised an error",
    Verdict.TIMEOUT: "timed out",
    Verdict.MEMORY: "ran out of memory",
    Verdict.CRASHED: word("crashed"),
    Verdict.SKIPPED: "not tried",
    Verdict.NOT_GRADED: "not graded",
    Verdict.INFRA: "could not be judged",
}


# Counts stand in a narrow column.
COUNTED_AS = SHOWN_AS | {
    Verdict.ERROR: word("raised"),
    Verdict.MEMORY: "out of memory",
    Verdict.INFRA: "not judged",
}


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task with the verdicts of its tests; ``first`` is the failure to explain.

    ``others`` are the first failures of the other contracts that are broken.
    """

    task: TaskResult
    tests: tuple[TestResult, ...]
    counts: Mapping[Verdict, int]
    first: TestResult | None
    others: tuple[TestResult, ...] = ()
    by_people: bool = False  # they give its points; what tests there are give none

    @property
    def lost(self) -> bool:
        """True if the task could be judged and points are missing."""
        return self.task.graded and self.task.score < self.task.points

    @property
    def untouched(self) -> bool:
        """True if the task is still the stub's."""
        return (
            self.first is not None
            and is_unwritten(self.first)
            and not any(_shows_work(test) for test in self.tests)
        )

    @property
    def waiting(self) -> bool:
        """True if nothing of the task ran, because another task has to pass first."""
        return self.first is not None and self.first.verdict is Verdict.SKIPPED

    @property
    def begun(self) -> bool:
        """True if points were lost by what the student wrote: the failure to explain."""
        return self.lost and self.first is not None and not self.untouched and not self.waiting

    @property
    def counted(self) -> str:
        """For example "5 passed, 2 failed". A rule that is kept is no work done: stubs keep all."""
        found = [verdict for verdict in COUNTED_AS if self.counts.get(verdict)]
        return ", ".join(f"{self.counts[verdict]} {say(COUNTED_AS[verdict])}" for verdict in found)

    @property
    def share(self) -> str:
        """Passed of all, as "5 of 7", and why some were not tried.

        All counts where this machine could not judge some.
        """
        if self.by_people and not any(self.counts.values()):
            return say("read" if self.task.graded else "people read it")
        if self.counts.get(Verdict.INFRA) or self.counts.get(Verdict.NOT_GRADED):
            return self.counted
        if self.waiting:
            return say(f"not tried: {self.barrier}")
        share = say(f"{self.counts.get(Verdict.PASSED, 0)} of {sum(self.counts.values())}")
        skipped = self.counts.get(Verdict.SKIPPED, 0)
        return say(f"{share}; {skipped} not tried: {self.barrier}") if skipped else share

    @property
    def barrier(self) -> str:
        """Why tests of the task were not tried: the first word that was given."""
        told = (test.message for test in self.tests if test.verdict is Verdict.SKIPPED)
        return say(first_line(next(told, "")))

    @property
    def not_graded_because(self) -> str:
        """Why this machine could not judge the task (or part of it)."""
        return say(self._not_graded_because())

    def _not_graded_because(self) -> str:
        if self.by_people:
            return "people read it"
        if self.counts.get(Verdict.INFRA):
            return "the judge could not test it"
        for test in self.tests:
            if test.verdict is Verdict.NOT_GRADED and test.message.strip():
                return first_line(test.message).rstrip(".")
        if not self.tests:
            return "no test of it has reported"
        return "this machine has no GPU, which the tests need"


def summarize(report: Report) -> tuple[TaskSummary, ...]:
    """One summary per task, in the order of the lab."""
    return tuple(_summary(task, report) for task in report.tasks)


def _summary(task: TaskResult, report: Report) -> TaskSummary:
    tests = tuple(test for test in report.tests if test.task == task.id)
    # A skipped test only says that another one failed, so it explains a task last.
    failures = sorted((t for t in tests if t.verdict in AT_FAULT), key=_telling)
    skipped = [test for test in tests if test.verdict is Verdict.SKIPPED]
    by_contract: dict[int, TestResult] = {}
    for test in failures:
        by_contract.setdefault(test.contract, test)
    return TaskSummary(
        task=task,
        tests=tests,
        counts=Counter(test.verdict for test in tests if not _is_kept_rule(test)),
        first=next(iter(failures + skipped), None),
        others=tuple(by_contract.values())[1:],
        by_people=report.is_manual,
    )


def _telling(test: TestResult) -> tuple[int, bool]:
    """Order failures by how much each says: stubs last, and what can be read before what cannot."""
    said = {Verdict.ERROR: 0, Verdict.FAILED: 1}.get(test.verdict, 2)
    return 3 if is_unwritten(test) else said, test.suite != "public"


def is_unwritten(test: TestResult) -> bool:
    """True if the test met a function that is still the stub's."""
    return "NotImplementedError" in test.message[:2000]


def gist(test: TestResult) -> str:
    """Return the line of a message that says what was wrong, not what was asked for."""
    lines = [line for line in test.message.splitlines() if line.strip()]
    rest = [line for line in lines[1:] if not line.startswith("call: ")]
    if rest[:1] == ["calls:"]:
        rest = [*itertools.dropwhile(lambda line: line.startswith("  "), rest[1:])]
    return (rest or lines or ["no message"])[0].strip()


def functions_at_fault(part: "TaskSummary", known: Sequence[str]) -> dict[str, int]:
    """Return the functions whose tests fail, and how many do: what raises, then by contract.

    Those in which something is wrong come before those that nobody has written yet.
    """
    failed = [test for test in part.tests if test.verdict in AT_FAULT]
    wrong = [test for test in failed if not is_unwritten(test)] or failed
    counted = Counter(test.function for test in wrong if test.function in known)
    first: dict[str, int] = {}
    for test in wrong:
        first[test.function] = min(first.get(test.function, test.contract), test.contract)
    raising = {test.function for test in wrong if _telling(test)[0] == 0}
    place = {name: (name not in raising, first[name], [*known].index(name)) for name in counted}
    order = sorted(counted, key=lambda name: place[name])
    return {name: counted[name] for name in order}


def _is_kept_rule(test: TestResult) -> bool:
    return test.suite == RULES and test.verdict is Verdict.PASSED


def ahead(parts: Sequence[TaskSummary]) -> tuple[str, ...]:
    """One line naming the tasks not started, one naming those that wait; each only if any."""
    fresh = [visible_line(part.task.id) for part in parts if part.lost and part.untouched]
    waiting = [visible_line(part.task.id) for part in parts if part.lost and part.waiting]
    lines = {"not started": fresh, "waiting for another task": waiting}
    return tuple(labelled(label, ", ".join(names)) for label, names in lines.items() if names)


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
    if report.is_manual and report.graded < report.total:
        return say(f"{say(text_of(report.extras.get('status')))} ({total} points in all)")
    if report.graded == report.total:
        return say(f"{score} of {total} points")
    return say(f"{score} of {graded} points graded here ({total} in all)")
