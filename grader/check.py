"""The proof of a lab: its suite passes right answers and fails wrong ones.

Each grading is a session of its own, so they run side by side in threads. The order of the
findings depends on the files alone, never on what ended first.
"""

import contextlib
import fnmatch
import functools
import os
import tempfile
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from grader.check_code import Proven
from grader.check_files import check_files, fails_line, shown, solution, variants, wrong_answers
from grader.check_reports import Graded, Role, judge
from grader.controls import make_controls
from grader.edits import build
from grader.errors import InferlabError, LabError
from grader.findings import CheckReport, Finding, OnProgress, Outcome
from grader.lab import Lab
from grader.results import Expected, Report
from grader.sessions import ForkServer


class Grade(Protocol):
    """The judge's ``grade``, as far as the proof needs it."""

    def __call__(
        self,
        lab: Lab,
        source: Path,
        *,
        device: str,
        seed: int,
        sandbox: str,
        one_worker: bool,
        until_lost: bool,
        tasks: Collection[str],
        on_event: Callable[[str, Any], None],
    ) -> Report: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One grading to be made; ``label`` is what ``only`` selects by."""

    lab: Lab
    role: Role
    label: str
    file: str
    source: Path
    seed: int
    fails: frozenset[str] = frozenset()


def check_labs(
    labs: Sequence[Lab],
    *,
    jobs: int = 2,
    seeds: int = 2,
    wrong_seeds: int = 1,
    device: str = "auto",
    sandbox: str = "auto",
    only: Sequence[str] = (),
    brief: bool = False,
    whole: bool = False,
    on_progress: OnProgress | None = None,
    grade: Grade | None = None,
) -> CheckReport:
    """Prove labs. ``only`` are patterns of what to grade (``wrong/tied*``, ``solution``, ``stub``,
    ``variants/*``, ``controls/*``); with one, files are not checked and nothing else is graded.
    ``brief`` grades only those tasks of a wrong answer that it should lose, ``whole`` all of them,
    also those whose code is that of a right answer which has passed in this check.
    """
    with tempfile.TemporaryDirectory(prefix="inferlab-check-") as folder:
        trials = [
            trial
            for lab in labs
            for trial in plan(lab, seeds, wrong_seeds, Path(folder) / lab.name)
            if not only or any(fnmatch.fnmatchcase(trial.label, pattern) for pattern in only)
        ]
        with _judge() if grade is None else contextlib.nullcontext(grade) as judging:
            crowd = max(1.0, 2 * jobs / len(os.sched_getaffinity(0)))
            runner = _Runner(judging, device, sandbox, brief, crowd)
            graded = _run(trials, runner, jobs, on_progress, learn=not (whole or brief))
    findings: list[Finding] = []
    for lab in labs:
        findings += [] if only else check_files(lab)
        for item in graded:
            findings += judge(item) if item.lab is lab else ()
    return CheckReport(tuple(findings))


def plan(lab: Lab, seeds: int, wrong_seeds: int, folder: Path) -> Iterator[Trial]:
    """List the gradings of a lab: right and wrong answers under seeds from 1, all else under 1."""
    stub = shown(lab, lab.stub)
    if lab.stub.is_file():
        yield Trial(lab, Role.STUB, "stub", stub, lab.folder, 1)
    for seed in range(1, seeds + 1):
        if solution(lab).is_file():
            name = shown(lab, solution(lab))
            yield Trial(lab, Role.SOLUTION, "solution", name, lab.solutions, seed)
        for file in variants(lab):
            label = f"variants/{file.name}"
            yield Trial(lab, Role.VARIANT, label, shown(lab, file), file, seed)
    for file in wrong_answers(lab):
        fails, problem = fails_line(lab, file)
        whole = None if problem else _write_built(file, folder / "wrong")
        if whole is not None:  # else a finding of the file says why
            label = f"wrong/{file.name}"
            for seed in range(1, wrong_seeds + 1):
                yield Trial(lab, Role.WRONG, label, shown(lab, file), whole, seed, fails)
    for name, file in _write_controls(lab, folder).items():
        yield Trial(lab, Role.CONTROL, f"controls/{name}", f"control {name}", file, 1)


def _write_built(file: Path, folder: Path) -> Path | None:
    """Write the whole answer that a wrong one stands for; None if it stands for none."""
    try:
        text = build(file)
    except LabError:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / file.name
    written.write_text(text, encoding="utf-8")
    return written


def _write_controls(lab: Lab, folder: Path) -> dict[str, Path]:
    try:
        controls = make_controls(lab.stub.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}  # check_files says what is wrong with the stub
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for name, source in controls.items():
        written[name] = folder / f"{name}.py"
        written[name].write_text(source, encoding="utf-8")
    return written


@dataclass(frozen=True, slots=True)
class _Runner:
    grade: Grade
    device: str
    sandbox: str
    brief: bool
    crowd: float
    proven: Proven = field(default_factory=Proven)

    def __call__(self, trial: Trial) -> Graded:
        manifest: list[Expected] = []
        asked: dict[str, list[str]] = {}

        def hear(event: str, data: Any) -> None:
            if event == "manifest":
                manifest[:] = data
            elif event == "asked":
                asked.update(data)

        report: Report | None = None
        failure = ""
        try:
            report = self.grade(
                trial.lab,
                trial.source,
                device=self.device,
                seed=trial.seed,
                sandbox=self.sandbox,
                # Our own wrong answers need no isolation from themselves: one worker start for each
                # instead of one for each task halves the time of a check.
                # Right answers have workers of their own, as students have, under the first seed.
                one_worker=trial.role in (Role.WRONG, Role.CONTROL) or trial.seed > 1,
                # All that counts of a wrong answer is which tasks it loses; a control must not
                # earn a single test.
                until_lost=trial.role is Role.WRONG,
                tasks=self._tasks(trial),
                on_event=hear,
            )
        except InferlabError as error:
            failure = error.line
        return Graded(
            *(trial.lab, trial.role, trial.file, trial.source, trial.seed, trial.fails),
            *(tuple(manifest), asked, report, failure, self.crowd),
        )

    def _tasks(self, trial: Trial) -> Collection[str]:
        """Return the tasks to grade; none means all."""
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


@contextlib.contextmanager
def _judge() -> Generator[Grade, None, None]:
    """Give the judge, its sessions forked: to start each anew would be half of the work."""
    from grader.grade import grade

    server = ForkServer()
    try:
        yield functools.partial(grade, start=server)
    finally:
        server.close()


def _problems(graded: Graded) -> str:
    """Say at once what did not hold: a check that is cut off has no findings."""
    problems = [found.got for found in judge(graded) if found.outcome is Outcome.FAILED]
    return f" · failed: {'; '.join(problems)}" if problems else ""


def _run(
    trials: list[Trial],
    runner: _Runner,
    jobs: int,
    on_progress: OnProgress | None,
    *,
    learn: bool,
) -> list[Graded]:
    """Make the gradings, wrong answers last: with ``learn`` what is proven by then is left out."""
    places = range(len(trials))
    wrong = [place for place in places if trials[place].role is Role.WRONG]
    others = [place for place in places if trials[place].role is not Role.WRONG]
    graded: dict[int, Graded] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            for wave in (others, wrong):
                if learn and graded and wave:
                    runner = replace(runner, proven=Proven(graded.values()))
                futures = {pool.submit(runner, trials[place]): place for place in wave}
                for future in as_completed(futures):
                    place = futures[future]
                    graded[place] = future.result()
                    if on_progress is not None:
                        trial, problems = trials[place], _problems(graded[place])
                        label = f"{trial.lab.name} {trial.label}{problems}"
                        on_progress(len(graded), len(trials), label)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [graded[place] for place in places]
