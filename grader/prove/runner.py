"""How files of ours are graded for a proof: the quick way where there is one, else as any is."""

import functools
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from grader.errors import InferlabError
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import Expected, Report, Verdict
from grader.prove.expected import RIGHT, Graded, Role, judge
from grader.prove.findings import Outcome
from grader.prove.proven import Proven
from grader.prove.trials import Trial

_KEPT = (Verdict.SKIPPED, Verdict.INFRA)


class Grade(Protocol):
    """The judge's ``grade``, as far as the proof needs it."""

    def __call__(self, request: Request, *, on_event: Callable[[str, Any], None]) -> Report: ...


def _none(lab: Lab) -> Grade | None:
    return None


@dataclass(frozen=True, slots=True)
class Judges:
    """``whole`` grades as students are graded; ``quick`` gives what is quicker, if a lab has it."""

    whole: Grade
    quick: Callable[[Lab], Grade | None] = _none


@dataclass(frozen=True, slots=True)
class Runner:
    """Grades one trial; of a wrong answer only what nothing has proven yet."""

    judges: Judges
    device: str
    sandbox: str
    brief: bool
    crowd: float
    proven: Proven = field(default_factory=Proven)
    until_lost: bool = True
    suite: str = "all"
    races: bool = True  # of variants too: without, the model answer alone is timed
    fallen: Mapping[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])

    def __call__(self, trial: Trial, *, again: bool = False) -> Graded:
        """Grade the quick way if there is one; ``again``: the whole way.

        What fell before, by the tests of ``fallen``, meets these alone first, and all of them only
        if it stands.
        """
        tests = self.fallen.get(trial.source)
        if tests:
            graded = self._grade(trial, tests, again=again)
            if all(finding.outcome is Outcome.OK for finding in judge(graded)):
                return graded
        return self._grade(trial, again=again)

    def _grade(
        self, trial: Trial, tests: frozenset[str] = frozenset(), *, again: bool = False
    ) -> Graded:
        quick = None if again else self.judges.quick(trial.lab)
        grade = quick or self.judges.whole
        manifest: list[Expected] = []
        asked: dict[str, list[str]] = {}
        measured: list[dict[str, Any]] = []

        def hear(event: str, data: Any) -> None:
            if event == "manifest":
                manifest[:] = data
            elif event == "asked":
                asked.update(data)
            elif event == "measured":
                measured[:] = data

        report: Report | None = None
        failure = ""
        try:
            sandbox = "none" if quick else self.sandbox
            report = grade(self._request(trial, tests, sandbox), on_event=hear)
        except InferlabError as error:
            failure = error.line
        return Graded(
            *(trial.lab, trial.role, trial.file, trial.source, trial.seed, trial.fails),
            *(tuple(manifest), asked, report, failure, self.crowd, tuple(measured)),
            tests,
        )

    def _request(self, trial: Trial, tests: frozenset[str], sandbox: str) -> Request:
        return Request(
            lab=trial.lab,
            source=trial.source,
            device=self.device,
            seed=trial.seed,
            sandbox=sandbox,
            suite=self.suite,
            tasks=trial.fails if tests else self._tasks(trial),
            tests=tests,
            # All that counts of a wrong answer is which tasks it loses; a control must not earn a
            # single test.
            until_lost=trial.role is Role.WRONG and self.until_lost,
        )

    def _tasks(self, trial: Trial) -> Collection[str]:
        """Return the tasks to grade; none means all."""
        if trial.role is Role.VARIANT and not self.races:
            return {task.id for task in trial.lab.tasks if not task.ladders}
        if trial.role is not Role.WRONG:
            return ()
        if self.brief:
            return trial.fails
        proven = self.proven.tasks(trial.lab, trial.source, trial.seed) - trial.fails
        # What a task requires may take it along, whatever its own code is.
        left = {
            task.id
            for task in trial.lab.tasks
            if task.id not in proven or trial.fails.intersection(task.requires)
        }
        return left if len(left) < len(trial.lab.tasks) else ()


def fallen_tests(gradings: Iterable[Graded]) -> dict[Path, frozenset[str]]:
    """Return what wrong answers have fallen by, of each that lost all that it should."""
    found: dict[Path, frozenset[str]] = {}
    for graded in gradings:
        if graded.role is Role.WRONG and graded.report is not None:
            lost = [test for test in graded.report.tests if test.verdict not in (*_KEPT, *RIGHT)]
            if graded.fails <= {test.task for test in lost}:
                found[graded.source] = frozenset(test.place for test in lost)
    return found


@contextmanager
def forked_judges(labs: Sequence[Lab], device: str, sandbox: str) -> Generator[Judges, None, None]:
    """Give the judges, their sessions forked: to start each anew would be half of the work."""
    from grader.judge.grade import choose_device, grade
    from grader.judge.setup.start import ForkServer
    from grader.prove.forking.forked import Quick

    with ExitStack() as stack:
        server = ForkServer()
        stack.callback(server.close)
        # What a stranger's code may try, and what CUDA does, no fork shows.
        may = sandbox != "required"
        found = [lab for lab in labs if may and choose_device(device, lab.limits.ranks) == "cpu"]
        quick = Quick(found)
        stack.callback(quick.close)
        yield Judges(functools.partial(grade, start=server), quick.judge)
