"""The proxy that tests talk to: the submission's functions and objects, and what tests need."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from grader.errors import SandboxError, SubmissionFault
from grader.labs.compiled import Compiled
from grader.labs.lab import Lab
from grader.labs.task import Task
from grader.proxy.control import Control
from grader.proxy.conversation.calls import Calls
from grader.proxy.conversation.clock import Clock, Imports
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import Place
from grader.proxy.conversation.spent import COMPILING, CONTROLS, STARTING, Spent
from grader.proxy.instruments.compiler import Compiler
from grader.proxy.instruments.device import Device
from grader.proxy.instruments.graphs import Graph, Referee
from grader.proxy.instruments.handed_on import HandedOn
from grader.proxy.instruments.instruments import Instruments, raises
from grader.proxy.loans.budget import CEILING
from grader.proxy.loans.loans import Refusal
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.racing import Racing
from grader.proxy.ranks.group import Group, PerRank
from grader.proxy.ranks.groups import Groups
from grader.proxy.repeat.transcript import RANKS
from grader.proxy.requests import Folder, Requests
from grader.proxy.values.values import Proxy
from grader.sandbox.pace import PACE
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.wire.codec import Record
from grader.wire.ring import Layout

__all__ = ["Folder", "Group", "PerRank", "Proxy", "Record", "Refusal", "Student", "Watched"]


class Student(Requests, Instruments, Racing):
    """A submission under test. Each public name of the submission is a callable attribute."""

    def __init__(self, lab: Lab, setting: Setting, pool: WarmPool, source: str) -> None:
        self._lab = lab
        self._setting = setting
        self._pool = pool
        self._source = source
        self._clock = Clock(lab.limits.call_seconds)
        self._asked: set[str] = set()  # public names, since the plugin last took them
        public = {name for task in lab.tasks for name in task.functions}
        self._calls = Calls(public, lab.reads)  # of the test that runs
        self.spent_ = Spent()
        self.handed_on_ = HandedOn()
        self._talk: Conversation | None = None
        self._worker: WorkerProcess | None = None  # of the conversation
        self._file = f"{setting.seen('submission')}/{lab.topic}.py"
        self._groups = Groups(
            *(setting, self._clock, source, self._file, pool.take, self._asked, self._calls)
        )
        self._load_fault: SubmissionFault | None = None
        self._task: Task | None = None  # what its workers load
        self._imports = Imports(self._clock)
        self._referee = Referee(setting.device, pool.take)
        self._device = Device(setting.device, pool.take, self._clock, self._file, source)
        self._control = Control(setting, pool.take)
        self._spare = 0  # workers that wait for answers of ours
        self._place = Place()  # in which the test has failed, once its worker is given up
        self._ring: Layout | None = None  # the latest
        self._unread = ""  # what was printed by a worker that was given up in the test
        self._killers: list[threading.Thread] = []
        self._compiler: Compiler | None = None  # once a test has asked for it

    def raises(self, kind: type[Exception], naming: str = "") -> AbstractContextManager[None]:
        """Expect the submission to raise ``kind``, with ``naming`` as a word of the message."""
        return raises(kind, naming, lambda: "".join(self._calls.lines()[-1:]))

    # -- for the plugin ---------------------------------------------------------------------

    def lines_(self) -> list[str]:
        """Return the submission, line by line."""
        return self._source.splitlines()

    def begin_(self, test_deadline: float, grading_deadline: float, workers_to_come: int) -> None:
        """Set the deadlines of the next test, and how many fresh workers later ones will take."""
        alive = self._groups.alive or (self._talk is not None and not self._talk.over)
        if self._load_fault is None:
            self._pool.expect(workers_to_come + (not alive) + self._spare)
        self._clock.test, self._clock.grading = test_deadline, grading_deadline
        self._clock.limits.clear()
        self._calls.clear()
        CEILING.begin()
        self._place = Place()
        self._groups.begin()
        self._device.begin_test()
        if self._talk is not None:
            self._talk.begin()

    def inspect_(self) -> None:
        """Raise Tampered if the submission has changed what of ours runs beside it."""
        if self._talk is not None:
            self._talk.look()
        self._groups.inspect()

    def printed_(self) -> str:
        """Return what the submission has printed since the last time, and forget it."""
        text = self._groups.printed()
        if self._worker is not None:
            text = self._worker.output() + text
            self._worker.forget_output()
        unread, self._unread = self._unread, ""
        return unread + text

    def asked_(self) -> set[str]:
        """Return the public names that were called since the last time, and forget them."""
        names = {*self._asked}
        self._asked.clear()
        return names

    def compiler_(self) -> Compiler:
        """Return what compiles the kernels of the submission, in a worker of its own."""
        return Compiler(self._setting, self._source, self._file, self._clock.grading)

    def _refused(
        self, launches: Sequence[dict[str, Any]], targets: Sequence[str]
    ) -> list[Compiled]:
        compiler = self._compiler = self._compiler or self.compiler_()
        compiler.extend(self._clock.grading)
        started = PACE.now()
        try:
            with self.spent_.on(COMPILING):
                return [*compiler.refused(launches, targets)]
        finally:
            # A kernel has a limit of its own, and how fast this machine compiles is ours.
            self._clock.test += PACE.now() - started

    def calls_(self) -> Calls:
        """Return the calls of the test that runs."""
        return self._calls

    def extend_(self, seconds: float) -> None:
        """Let the test, and the grading, last at least this long from now on."""
        end = PACE.now() + seconds
        self._clock.test = max(self._clock.test, end)
        self._clock.grading = max(self._clock.grading, end)

    def turn_to_(self, task: Task) -> None:
        """Give the worker up; the next one loads what a task says."""
        self.retire_()
        if self._task is None or (self._task.builds, self._task.alone) != (task.builds, task.alone):
            self._load_fault = None
        self._task = task

    def retire_(self) -> None:
        """Give the worker up: the next call gets a fresh one. It is killed beside what follows."""
        self._place = self._groups.place() or self._place
        elsewhere = self._device.place()
        kills = [*self._groups.retire(), *self._referee.retire(), *self._device.retire()]
        if self._talk is not None and self._worker is not None:
            if self._talk.failed is not None:
                self._place = Place(self._talk.failed, self._ring)
            self._talk.over = True
            kills.append(self._worker.kill)
            self._talk = self._worker = None
        self._place = elsewhere or self._place  # what the worker met came from there
        for kill in kills:
            killer = threading.Thread(target=kill)
            killer.start()
            self._killers.append(killer)

    def close_(self) -> None:
        """Give the worker up and wait until every one that was used is gone."""
        self.retire_()
        if self._compiler is not None:
            self._compiler.close()  # it still knows what it has compiled
        for killer in self._killers:
            killer.join()

    def give_up_(self) -> None:
        """Let go of every worker within a test, which keeps what they have printed."""
        self._unread = self.printed_()
        self.close_()

    def control_(self) -> str:
        """Return what an answer of ours meets where the test has failed, or an empty string.

        Asked once all is given up.
        """
        if self._setting.device == "cpu" and self._setting.ranks == 1:
            self._spare = 1  # what has failed once may again
            self._pool.expect(2)  # the next test's gets ready beside ours
        with self.spent_.on(CONTROLS):
            return self._control.trouble(self._place)

    def end_(self) -> None:
        """End all workers: the grading is over."""
        self.close_()
        self._control.close()

    def _conversation(self) -> Conversation:
        if self._load_fault is not None:
            raise self._load_fault
        if self._talk is None or self._talk.over:
            started = PACE.now()
            with self.spent_.on(STARTING):
                self._worker = self._pool.take()
            # How long a worker takes to start is ours, not the submission's.
            self._clock.test += PACE.now() - started
            device = self._setting.device
            self._talk = Conversation(
                *(self._worker, device, self._clock, self._source),
                *(self._asked, self._calls, self.spent_),
            )
            self.handed_on_.begin()
            self.handed_on_.give(self._talk)
            if self._talk.over:
                raise SandboxError("a worker ended before it had loaded anything")
            talk = self._talk
            try:
                in_time = self._imports.in_time(lambda seconds: self._load(talk, seconds))
            except SubmissionFault as fault:
                # What fails on import fails for every test; it need not be tried again.
                self._load_fault = fault
                raise
            if not in_time:
                self.retire_()
                return self._conversation()
        return self._talk

    def _load(self, talk: Conversation, seconds: float) -> None:
        task = self._task
        names = task.builds if task else ()
        libraries = [f"{self._setting.seen('built')}/{name}.so" for name in names]
        talk.load(self._file, seconds, libraries, alone=bool(task and task.alone))

    # -- for the tests ----------------------------------------------------------------------

    def operator(self, name: str) -> Callable[..., Any]:
        """Return an operator that a library of the submission's has registered.

        It is named as one would call it: "torch.ops.NAMESPACE.NAME".
        """
        return lambda *args, **kwargs: self._conversation().call(["operator", name], args, kwargs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._conversation().call(["function", name], args, kwargs)

    def run_elsewhere(
        self, graph: Graph, values: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:  # its results, and named tensors afterwards
        """Run a graph in a worker that never meets the submission, on values by their names.

        Raises Mismatch where that is not possible, and says why.
        """
        started = PACE.now()
        self._referee.begin()
        self._clock.test += PACE.now() - started
        return self._referee.run(graph, values, self._clock)

    def spawn(self, world_size: int, backend: str = "") -> Group:
        """Return the group of that many ranks, each with the submission loaded.

        ``backend`` is "nccl" where the lab is graded on a GPU, else "gloo", unless it is named.
        Raises NotGraded if there are fewer GPUs than ranks.
        """
        if self._load_fault is not None:
            raise self._load_fault
        if self._calls.whole:
            self._calls.whole.never = RANKS
        return self._groups.get(world_size, backend)

    @contextmanager
    def time_limit(self, seconds: float) -> Generator[None, None, None]:
        """Shorten the deadline of each call inside."""
        self._clock.limits.append(seconds)
        try:
            yield
        finally:
            self._clock.limits.remove(seconds)

    def new_folder(self) -> Folder:
        """Return an empty folder that this worker can read and only we can write."""
        self._conversation()
        worker = self._worker
        assert worker is not None
        host = Path(tempfile.mkdtemp(dir=worker.folder))
        host.chmod(0o755)
        folder = Folder(host, f"{worker.seen_folder}/{host.name}")
        if self._calls.whole:
            self._calls.whole.folders[folder.path] = host
        return folder
