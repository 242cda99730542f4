"""One submission's grading as a message, its result as another: the same on every engine.

What is here runs where the grading runs: in a process of this machine, or on a node of a cluster,
which has a copy of the course repository but not the collected files; so they come along.
"""

import functools
import os
import platform
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.course.database.records import INFRA_EXIT, Attempt
from grader.course.grading.leases import leased_gpu
from grader.environment import VISIBLE
from grader.errors import CannotGrade, InferlabError, JudgeError
from grader.judge.grade import grade
from grader.judge.listener import OnEvent
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.documents.submission import Submission, fingerprint
from grader.labs.lab import Lab, find_root, load_lab
from grader.labs.results import Report, Verdict
from grader.questions.key import key_file
from grader.sandbox.allowance import raise_limits
from grader.sandbox.confinement import gpu
from grader.text import first_line


@dataclass(frozen=True, slots=True)
class Job:
    """A grading to be made. ``version`` is the lab's here, which that of a node must be."""

    student: str
    commit: str
    lab: str  # the lab's folder
    version: str
    files: dict[str, bytes] = field(repr=False)
    device: str  # "cpu" or "cuda"
    sandbox: str
    seed: int | None
    beside: int = 1  # gradings that a GPU has at a time, this one among them
    suite: str = "all"  # or "public"
    ticket: str = ""  # by which who asked for it knows it again
    questions: float = 0.0  # points of answers to the lab's questions
    team: tuple[str, ...] = ()  # all who handed it in together; () is the student alone


@dataclass(frozen=True, slots=True)
class Step:
    """A task of a grading that runs: so many of its tests have ended, and so many of these well."""

    task: str
    tests: int
    ended: int
    passed: int


@dataclass(frozen=True, slots=True)
class Done:
    """A grading that has ended. Without a report, ``failure`` says what of ours went wrong."""

    job: Job
    seconds: float
    report: Report | None = None
    failure: str = ""
    host: str = field(default_factory=platform.node)
    sick: str = ""  # why the GPU that it ran on is to be set aside

    @property
    def infra(self) -> bool:
        """True if the grading says nothing of the submission and is worth another try."""
        return self.report is None or self.report.exit_code == INFRA_EXIT

    @property
    def why(self) -> str:
        """Return what of ours went wrong, in a line, or an empty string."""
        if self.failure or self.report is None or not self.infra:
            return self.failure
        broken = [test for test in self.report.tests if test.verdict is Verdict.INFRA]
        told = [f"{test.id}: {first_line(test.message)}" for test in broken[:1]]
        more = [f"{len(broken) - 1} more tests"] if len(broken) > 1 else []
        return " and ".join(told + more) or "the grading was cut off"


class Steps:
    """Counts a grading's tests and tells of a task when it begins to end, and when it has."""

    def __init__(self, tell: Callable[[Step], object]) -> None:
        self._tell = tell
        self._tests: Counter[str] = Counter()
        self._ended: dict[str, dict[str, bool]] = {}  # by task and test, whether it passed

    def hear(self, event: str, data: Any) -> None:
        """Take an event of a grading, as ``judge/listener`` has them."""
        if event == "manifest":
            self._tests = Counter(test.task for test in data)
            for task, count in self._tests.items():
                self._tell(Step(task, count, 0, 0))
        elif event == "test":
            ended = self._ended.setdefault(data.task, {})
            ended[data.place] = data.verdict is Verdict.PASSED
            if len(ended) == self._tests[data.task]:
                passed = sum(ended.values())
                self._tell(Step(data.task, len(ended), len(ended), passed))


def grade_job(job: Job, tell: Callable[[Step], object] | None = None) -> Done:
    """Grade, in a place on the GPU if one is asked for; the GPU is looked at afterwards.

    ``tell`` hears how it comes on.
    """
    started = time.monotonic()
    report: Report | None = None
    failure = sick = ""
    with leased_gpu(job.beside) if job.device == "cuda" else nullcontext():
        try:
            report = _grade(job, Steps(tell).hear if tell else None)
        except InferlabError as error:
            failure = error.line
            if isinstance(error, JudgeError):
                _forget_server()
        if job.device == "cuda":
            sick = gpu.trouble_at_rest()
    return Done(job, round(time.monotonic() - started, 2), report, failure, sick=sick)


def _grade(job: Job, on_event: OnEvent | None) -> Report:
    folder = Path(job.lab)
    lab = load_lab(folder if folder.is_dir() else find_root() / "labs" / folder.name)
    if lab_version(lab) != job.version:
        told = f"{platform.node()} has another version of {lab.name}"
        raise CannotGrade(told, "every node needs the same commit of the course repository")
    submission = Submission(
        files=dict(job.files),
        sha256=fingerprint(job.files),
        folder=folder,  # replaced when its files are copied onto the stage
        code_name=lab.code_name,
        source=folder,
        single_file=False,
    )
    request = Request(
        *(lab, submission, job.device, job.seed, job.sandbox, job.suite),
        questions=job.questions,
        students=job.team or (job.student,),
    )
    raise_limits(lab, "cpu")  # which the server hands down
    return grade(request, start=_server(os.environ.get(VISIBLE, "")), on_event=on_event)


@functools.cache
def _server(gpus: str) -> ForkServer:
    """Keep the process that forks sessions; those of one server all see the same GPUs."""
    return ForkServer()


def _forget_server() -> None:
    """Let the next grading start a server of its own: the one that is kept may be what broke."""
    _server(os.environ.get(VISIBLE, "")).close()
    _server.cache_clear()


def lab_version(lab: Lab) -> str:
    """Return a short hash over what the points depend on: the lab's files and its suites."""
    files = [*lab.folder.iterdir(), lab.hidden_suite, lab.baseline, *lab.given_files]
    files += [key_file(lab)]
    found: dict[str, bytes] = {
        str(file.relative_to(lab.root)): file.read_bytes() for file in files if file.is_file()
    }
    # What a student writes is no part of it: in the instructors' tree it is the stub.
    own = {lab.folder / name for name in (*lab.handed_in, lab.pseudocode.name)}
    return fingerprint({name: text for name, text in found.items() if lab.root / name not in own})[
        :12
    ]


def attempt_of(done: Done, lab: Lab, run: str, submitted: datetime | None, engine: str) -> Attempt:
    """Return what the gradebook keeps of a grading: also of one that failed by our fault."""
    more: dict[str, Any] = {
        "commit": done.job.commit,
        "lab_version": done.job.version,
        "engine": engine,
        "host": done.host,
    }
    if done.failure:
        more["failure"] = done.failure
    report = done.report or failed_report(lab, {})
    report = replace(report, provenance=report.provenance | more)
    return Attempt(
        student=done.job.student,
        lab=lab.name,
        run=run,
        commit=done.job.commit,
        submitted=submitted,
        graded=datetime.now(UTC),
        seconds=done.seconds,
        points=report.score,
        possible=report.graded,
        exit_code=report.exit_code,
        report=report.to_json(),
        suite=done.job.suite,
    )


def failed_report(lab: Lab, provenance: dict[str, Any]) -> Report:
    """Return the report of a grading that could not be made: nothing was judged."""
    return Report(lab.number, lab.topic, (), (), provenance, partial=True)
