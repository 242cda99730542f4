"""Which mutants of model answers the suites let live.

Each is graded by the tests of the tasks that can reach what it changed, until one of them fails.
What lives has a reason in ``equivalent.toml``, or is a gap of the suite, or shows that the model
answer has a part that it could do without. In a stretch that runs nowhere here one is graded.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.errors import InferlabError, LabError
from grader.grammar import counted
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import TestResult, Verdict
from grader.prove.expected import Graded, Role, judge
from grader.prove.files import EQUIVALENT, shown, solution
from grader.prove.findings import CheckReport, Finding, OnProgress, Outcome, Proof, Tried, verdict
from grader.prove.mutants.equivalent import Key, reasons_of, stale
from grader.prove.mutants.idle import Stretch, stretches
from grader.prove.mutants.mutants import Mutant, drawn, mutants_of
from grader.prove.mutants.spans import Edit
from grader.prove.proven import Module
from grader.prove.runner import Judges, Runner, forked_judges
from grader.prove.trials import Trial

_ALIVE = (Verdict.PASSED, Verdict.NOT_GRADED, Verdict.SKIPPED)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one mutant: the test that killed it, or why it could not be judged."""

    mutant: Mutant
    killer: TestResult | None = None
    failure: str = ""
    tasks: tuple[str, ...] = ()  # whose tests reach it
    idle: bool = False  # what is around it runs nowhere here


class _Killed(Exception):
    """Ends a grading: the first test that fails says enough."""

    def __init__(self, test: TestResult) -> None:
        super().__init__(test.id)
        self.test = test


def check_mutants(
    labs: Sequence[Lab],
    proof: Proof = Proof(),  # noqa: B008  # frozen
    *,
    on_progress: OnProgress | None = None,
    judges: Judges | None = None,
) -> CheckReport:
    """Grade the mutants of labs, drawn by the date where there are to be so many of each."""
    own = forked_judges(labs, proof.device, proof.sandbox)
    with (
        tempfile.TemporaryDirectory(prefix="inferlab-mutants-") as folder,
        own if judges is None else nullcontext(judges) as judging,
    ):
        runner = Runner(judging, proof.device, proof.sandbox, brief=False, crowd=proof.crowd)
        day = proof.day
        hunts = [_Hunt(lab, runner, Path(folder) / lab.name, day, proof.sample) for lab in labs]
        _run([call for hunt in hunts for call in hunt.calls()], proof.jobs, on_progress)
    findings = [finding for hunt in hunts for finding in hunt.findings()]
    return CheckReport(tuple(findings), mutants=tuple(hunt.tried() for hunt in hunts))


class _Hunt:
    """The mutants of one lab, and what became of them."""

    def __init__(self, lab: Lab, runner: Runner, folder: Path, date: str, sample: int) -> None:
        self._lab, self._runner, self._folder = lab, runner, folder
        folder.mkdir()
        self._source = solution(lab).read_bytes()
        self._all = [*mutants_of(self._source)]
        self._drawn = drawn(self._all, lab.name, date, sample) if sample else self._all
        self._stretches = stretches(self._source)
        self._idle: dict[Stretch, bool] = {}
        self._fates: dict[int, Fate] = {}
        self._reasons: dict[Key, str] = {}
        self._problems: list[Finding] = []
        try:
            self._reasons = reasons_of(lab)
        except LabError as error:
            file = shown(lab, lab.solutions / EQUIVALENT)
            self._problems.append(verdict(lab.name, "can be read", file, error.message))

    def calls(self) -> Iterator[Callable[[], str]]:
        """Grade the model answer, and yield what grades each mutant and says how it went."""
        trial = Trial(
            *(self._lab, Role.SOLUTION, "solution", shown(self._lab, solution(self._lab))),
            *(self._lab.solutions, 1),
        )
        graded = self._runner(trial)
        bad = [finding for finding in judge(graded) if finding.outcome is Outcome.FAILED]
        self._problems += bad
        if bad:
            return
        reached = _reached(graded, Module(self._source))
        for place, mutant in enumerate(self._drawn):
            tasks = tuple(task for task, lines in reached.items() if mutant.statement in lines)
            yield lambda place=place, mutant=mutant, tasks=tasks: self._try(place, mutant, tasks)

    def _try(self, place: int, mutant: Mutant, tasks: tuple[str, ...]) -> str:
        fate = self._fates[place] = self._fate(mutant, tasks)
        name = f"{self._lab.name} {self._lab.code_name}:{mutant.line} {mutant.edit.kind}"
        if fate.failure:
            return f"{name}: {fate.failure}"
        if fate.idle:
            return f"{name}: {self._widest(mutant).name} runs nowhere here"
        return name if fate.killer else f"{name}: lives: {mutant.before} → {mutant.after}"

    def _fate(self, mutant: Mutant, tasks: tuple[str, ...]) -> Fate:
        if not tasks:
            return Fate(mutant)
        around = [stretch for stretch in self._stretches if stretch.holds(mutant)]
        if any(map(self._idle.get, around)):
            return Fate(mutant, tasks=tasks, idle=True)
        fate = self._grade(mutant, mutant.edit, tasks)
        if fate.killer or fate.failure or mutant.key in self._reasons:
            return fate
        # The whole function; if some of it runs, its innermost block from that statement on.
        for stretch in around[:1] + around[-1:]:
            if stretch not in self._idle:
                without = self._grade(mutant, stretch.edit, tasks)
                self._idle[stretch] = not without.killer and not without.failure
            if self._idle[stretch]:
                return replace(fate, idle=True)
        return fate

    def _grade(self, mutant: Mutant, edit: Edit, tasks: tuple[str, ...]) -> Fate:
        """Tell what becomes of a mutant if ``edit`` is made."""
        fd, name = tempfile.mkstemp(".py", "mutant_", self._folder)
        with open(fd, "wb") as writing:
            writing.write(edit.apply(self._source))
        file = Path(name)
        quick = self._runner.judges.quick(self._lab)
        request = Request(
            lab=self._lab,
            source=file,
            device=self._runner.device,
            seed=1,
            sandbox="none" if quick else self._runner.sandbox,
            tasks=tasks,
            until_lost=True,
        )
        grade = quick or self._runner.judges.whole

        def hear(event: str, data: Any) -> None:
            if event == "test":
                _look((data,), tasks)

        try:
            report = grade(request, on_event=hear)
            _look(report.tests, tasks)  # those that were never run are told by it alone
        except _Killed as killed:
            return Fate(mutant, killed.test, tasks=tasks)
        except InferlabError as error:
            return Fate(mutant, failure=error.line, tasks=tasks)
        finally:
            file.unlink()
        broken = [test.id for test in report.tests if test.verdict is Verdict.INFRA]
        failure = f"{broken[0]} broke in the judge" if broken else ""
        return Fate(mutant, failure=failure, tasks=tasks)

    def _widest(self, mutant: Mutant) -> Stretch:
        """Return the widest stretch around a mutant that runs nowhere here."""
        return next(each for each in self._stretches if self._idle.get(each) and each.holds(mutant))

    def findings(self) -> Iterator[Finding]:
        """Tell who lives without a reason, and which reasons are none."""
        yield from self._problems
        yield from stale(self._lab, self._reasons, {mutant.key for mutant in self._all})
        for _, fate in sorted(self._fates.items()):
            yield self._finding(fate)
        unrun = Counter(self._widest(fate.mutant) for fate in self._fates.values() if fate.idle)
        for stretch, number in unrun.items():
            rule, file = f"{stretch.name} runs here", shown(self._lab, solution(self._lab))
            mutants = counted(number, "mutant")
            got = f"every test passes without it, and so {mutants} in it can tell nothing"
            yield Finding(self._lab.name, rule, f"{file}:{stretch.line}", Outcome.WARNING, got=got)

    def _finding(self, fate: Fate) -> Finding:
        mutant, lab = fate.mutant, self._lab.name
        rule = f"mutant of {mutant.definition or 'the file'} is killed ({mutant.edit.kind})"
        file = f"{shown(self._lab, solution(self._lab))}:{mutant.line}"
        lines = (f"  before: {mutant.before}", f"  after:  {mutant.after}")
        if fate.failure:
            return verdict(lab, "the judge stays whole", file, fate.failure, "", lines)
        reason = self._reasons.get(mutant.key, "")
        if fate.killer and reason:
            got = f"{fate.killer.id} fails, though a reason says: {reason}"
            return Finding(lab, rule, file, Outcome.WARNING, got=got, details=lines)
        if fate.killer or reason or fate.idle:
            return Finding(lab, rule, file, Outcome.OK)
        tests = f"every test of {', '.join(fate.tasks)} passes" if fate.tasks else "no test reaches"
        wanted = f"a test that fails, or a reason in {EQUIVALENT}"
        return verdict(lab, rule, file, tests + " it" * (not fate.tasks), wanted, lines)

    def tried(self) -> Tried:
        """Count."""
        fates = [fate for fate in self._fates.values() if not fate.failure]
        killed = sum(fate.killer is not None for fate in fates)
        equal = sum(not fate.killer and fate.mutant.key in self._reasons for fate in fates)
        idle = sum(fate.idle and fate.mutant.key not in self._reasons for fate in fates)
        left = len(fates) - killed - equal - idle
        return Tried(self._lab.name, len(self._all), killed, equal, left, idle)


def _look(tests: Iterable[TestResult], tasks: Collection[str]) -> None:
    """Raise for the first test that fails."""
    for test in tests:
        if test.task in tasks and test.verdict not in (*_ALIVE, Verdict.INFRA):
            raise _Killed(test)


def _reached(graded: Graded, module: Module) -> dict[str, Collection[int]]:
    """Return for each task the lines of the statements that its tests can reach."""
    return {task: module.lines(set(names)) for task, names in graded.asked.items()}


def _run(calls: Sequence[Callable[[], str]], jobs: int, on_progress: OnProgress | None) -> None:
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            futures = [pool.submit(call) for call in calls]
            for done, future in enumerate(as_completed(futures), 1):
                said = future.result()
                if on_progress is not None:
                    on_progress(done, len(calls), said)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
