"""How files of ours are graded for a proof: the quick way where there is one, else as any is."""

import functools
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from grader.errors import InferlabError
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import Expected, Report, Verdict
from grader.prove.expected import RIGHT, Graded, Role, is_expected, judge
from grader.prove.findings import Outcome
from grader.prove.proven import Proven
from grader.prove.remembered.entries import Remembered, Told
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
    remembered: Remembered = field(default_factory=Remembered)

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
        """Recall a grading, or make it; what comes as it should is remembered."""
        quick = None if again else self.judges.quick(trial.lab)
        request = self._request(trial, tests, "none" if quick else self.sandbox)
        key = self.remembered.key(request, "quick" if quick else "whole")
        told = self.remembered.recall(key)
        if told is not None:
            graded = replace(_graded(trial, tests, told), key=key, recalled=True)
            if is_expected(graded):
                return graded
        told = self._told(request, quick or self.judges.whole)
        graded = replace(_graded(trial, tests, told), key=key)
        if is_expected(graded):
            self.remembered.keep(key, trial.lab, told)
        else:
            self.remembered.forget(key)
        return graded

    def _told(self, request: Request, grade: Grade) -> Told:
        """Make a grading, and return what it tells."""
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
            report = grade(request, on_event=hear)
        except InferlabError as error:
            failure = error.line
        return Told(report, failure, tuple(manifest), asked, tuple(measured), self.crowd)

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


def _graded(trial: Trial, tests: frozenset[str], told: Told) -> Graded:
    return Graded(
        *(trial.lab, trial.role, trial.file, trial.source, trial.seed, trial.fails),
        *(told.manifest, told.asked, told.report, told.failure, told.crowd, told.measured),
        tests,
    )


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
    """Give the judges, their sessions forked: to start each anew would be half of the work.

    What they are forked from starts with the first grading, for all may be remembered. It dies with
    the thread that has asked for that: one of a pool, which makes them all.
    """
    from grader.judge.grade import choose_device, grade
    from grader.judge.setup.start import ForkServer
    from grader.prove.forking.forked import Quick

    # What a stranger's code may try, and what CUDA does, no fork shows.
    may = sandbox != "required"
    found = [lab for lab in labs if may and choose_device(device, lab.limits.ranks) == "cpu"]
    lock = threading.Lock()

    with ExitStack() as stack:

        @functools.cache
        def start() -> tuple[ForkServer, Quick]:
            server = ForkServer()
            stack.callback(server.close)
            quick = Quick(found)
            stack.callback(quick.close)
            return server, quick

        def started() -> tuple[ForkServer, Quick]:
            with lock:
                return start()

        def whole(request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
            return grade(request, start=started()[0], on_event=on_event)

        def quick(request: Request, *, on_event: Callable[[str, Any], None]) -> Report:
            way = started()[1].judge(request.lab)
            assert way is not None
            return way(request, on_event=on_event)

        yield Judges(whole, lambda lab: quick if lab in found else None)
