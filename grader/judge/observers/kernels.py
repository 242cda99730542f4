"""``make compile``: what the public tests launch, compiled for GPUs.

Of each kernel the launch with the largest tensors is compiled for all targets, and others for
``FIRST``, at least one for each set of options as long as there is time. Several workers compile.
"""

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from grader.errors import StudentTimeout
from grader.judge.observers.launches import described
from grader.labs.cards import CARDS
from grader.labs.compiled import Compiled
from grader.proxy.instruments.compiler import Compiler
from grader.proxy.instruments.launches import extent, options, specialisation
from grader.proxy.student import Student
from grader.sandbox.pace import PACE

FIRST = "sm_90"
MOST_SPECIALISATIONS = 24  # of one kernel
MOST_WORKERS = 4
SECONDS = 45.0  # after so long nothing is begun but the launches that are shown


@dataclass(frozen=True, slots=True)
class Job:
    """A launch to compile for a target; ``shown`` are those that a table is about."""

    launch: dict[str, Any]
    target: str
    shown: bool

    @property
    def batch(self) -> str:
        """What one worker does in turn: it knows again what it has compiled."""
        return f"{self.target} {options(self.launch)}"


def compile_all(
    launches: list[dict[str, Any]], student: Student, emit: Callable[[str, Any], None]
) -> None:
    """Compile what was recorded, and emit ("compiled", …) for each result, kernel by kernel."""
    launches = [*{json.dumps(one): one for one in launches}.values()]
    counts = dict.fromkeys((launch["line"], launch["kernel"]) for launch in launches)
    kernels = [[one for one in launches if (one["line"], one["kernel"]) == k] for k in counts]
    plan = [(len(of_it), jobs_of(of_it)) for of_it in kernels]
    emit("compiling", sum(len(jobs) for _, jobs in plan))
    with Workers(student) as workers:
        made = workers.begin([job for _, jobs in plan for job in jobs])
        for count, jobs in plan:
            known: set[str] = set()
            for job, found in zip(jobs, itertools.islice(made, len(jobs)), strict=True):
                if found is not None and (job.shown or found.variant not in known):
                    known.add(found.variant or specialisation(job.launch))
                    told = {"launch": described(job.launch), "of": count, **found.to_json()}
                    emit("compiled", told)


def jobs_of(launches: Sequence[dict[str, Any]]) -> list[Job]:
    """Return what to compile of one kernel's launches, the largest first, for all targets."""
    kinds: dict[str, dict[str, Any]] = {}
    for launch in sorted(launches, key=extent, reverse=True):
        kinds.setdefault(specialisation(launch), launch)
    # Each set of options has its turn, then each its second launch, and so on.
    turns: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    ranked = sorted(kinds.values(), key=lambda launch: next(turns[options(launch)]))
    largest, *rest = ranked[:MOST_SPECIALISATIONS]
    targets = sorted(CARDS, key=lambda target: target != FIRST)
    shown = [Job(largest, target, True) for target in targets]
    return [*shown, *(Job(launch, FIRST, False) for launch in rest)]


class Workers:
    """Compilers that work at one time, each through a batch."""

    def __init__(self, student: Student) -> None:
        cores = len(os.sched_getaffinity(0))
        self._compilers = [student.compiler_() for _ in range(min(MOST_WORKERS, cores))]
        self._idle: SimpleQueue[Compiler] = SimpleQueue()
        for compiler in self._compilers:
            self._idle.put(compiler)
        self._threads = ThreadPoolExecutor(len(self._compilers))
        self._end = PACE.now() + SECONDS

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for compiler in self._compilers:
            compiler.close()

    def begin(self, jobs: list[Job]) -> Iterator[Compiled | None]:
        """Return what comes of each, in order; None for what there was no time for."""
        batches: dict[str, list[Job]] = {}
        for job in sorted(jobs, key=lambda job: not job.shown):
            batches.setdefault(job.batch, []).append(job)
        futures: dict[int, Future[Compiled | None]] = {id(job): Future() for job in jobs}
        for batch in batches.values():
            self._threads.submit(self._work, batch, futures)
        return (futures[id(job)].result() for job in jobs)

    def _work(self, batch: list[Job], futures: dict[int, Future[Compiled | None]]) -> None:
        compiler = self._idle.get()
        try:
            for job in batch:
                try:
                    futures[id(job)].set_result(self._made(compiler, job))
                except BaseException as error:  # this machine's: whoever waits raises it
                    futures[id(job)].set_exception(error)
        finally:
            self._idle.put(compiler)

    def _made(self, compiler: Compiler, job: Job) -> Compiled | None:
        if not job.shown and PACE.now() > self._end:
            return None
        try:
            return compiler.compile(job.launch, job.target)
        except StudentTimeout as late:
            name, line = job.launch["kernel"], job.launch["line"]
            return Compiled(name, line, job.target, error=str(late))
