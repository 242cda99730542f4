"""The proxy that tests talk to: the submission's functions and objects, and what tests need."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.errors import Mismatch, SubmissionFault
from grader.labs.compiled import Compiled
from grader.labs.lab import Lab
from grader.labs.metered import Tuned
from grader.proxy.budget import CEILING
from grader.proxy.calls import Calls
from grader.proxy.compiler import Compiler
from grader.proxy.conversation import Clock, Conversation
from grader.proxy.graphs import Backend, Graph, Referee
from grader.proxy.group import Group, PerRank
from grader.proxy.groups import Groups
from grader.proxy.instruments import Instruments, raises
from grader.proxy.kinds import expect
from grader.proxy.lent import Lent, Refusal
from grader.proxy.spent import COMPILING, STARTING, Spent
from grader.proxy.values import Proxy
from grader.proxy.watching import Watched
from grader.sandbox.pace import PACE
from grader.sandbox.peek import private_bytes
from grader.sandbox.pool import WarmPool
from grader.sandbox.process import Setting, WorkerProcess
from grader.wire.codec import Record
from grader.wire.ring import Layout

__all__ = ["Folder", "Group", "PerRank", "Proxy", "Record", "Refusal", "Student", "Watched"]

MOST_TUNED = 20  # kernels
RING_SECONDS = 60.0  # mapping may have to wait until memory has been given back

KernelFiles = tuple[list[str], list[int], Tensor]  # as ``worker/kernels`` packs them


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that both sides can read: ``host`` is our path, ``path`` the submission's."""

    host: Path
    path: str


class Student(Instruments):
    """A submission under test. Each public name of the submission is a callable attribute."""

    def __init__(self, lab: Lab, setting: Setting, pool: WarmPool, source: str) -> None:
        self._lab = lab
        self._setting = setting
        self._pool = pool
        self._source = source
        self._clock = Clock(lab.limits.call_seconds)
        self._asked: set[str] = set()  # public names, since the plugin last took them
        self._calls = Calls()  # of the test that runs
        self.spent_ = Spent()
        self._talk: Conversation | None = None
        self._worker: WorkerProcess | None = None  # of the conversation
        self._file = f"{setting.seen('submission')}/{lab.topic}.py"
        self._groups = Groups(
            *(setting, self._clock, source, self._file, pool.take, self._asked, self._calls)
        )
        self._load_fault: SubmissionFault | None = None
        self._referee = Referee(setting.device, pool.take)
        self._killers: list[threading.Thread] = []
        self._compiler: Compiler | None = None  # once a test has asked for it

    def _lines(self) -> list[str]:
        return self._source.splitlines()

    # -- for the plugin ---------------------------------------------------------------------

    def begin_(self, test_deadline: float, grading_deadline: float, workers_to_come: int) -> None:
        """Set the deadlines of the next test, and how many fresh workers later ones will take."""
        alive = self._groups.alive or (self._talk is not None and not self._talk.over)
        if self._load_fault is None:
            self._pool.expect(workers_to_come + (not alive))
        self._clock.test, self._clock.grading = test_deadline, grading_deadline
        self._clock.limits.clear()
        self._calls.clear()
        CEILING.begin()
        self._groups.forget_lent()
        if self._talk is not None:
            self._talk.forget_lent()

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
        return text

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
        started = PACE.now()
        try:
            with self.spent_.on(COMPILING):
                return [*compiler.refused(launches, targets)]
        finally:
            # A kernel has a limit of its own, and how fast this machine compiles is ours.
            self._clock.test += PACE.now() - started

    def tuned_(self) -> list[Tuned]:
        """Return the kernels that are left to Triton's autotuner; none of what is not of our form.

        Raises SubmissionFault where the submission cannot be loaded.
        """
        told = self._conversation().request({"op": "tuned"})
        try:
            return [Tuned.of(item) for item in expect(told, list, "the tuned kernels")[:MOST_TUNED]]
        except (ValueError, Mismatch):
            return []

    def calls_(self) -> Calls:
        """Return the calls of the test that runs."""
        return self._calls

    def extend_(self, seconds: float) -> None:
        """Let the test, and the grading, last at least this long from now on."""
        end = PACE.now() + seconds
        self._clock.test = max(self._clock.test, end)
        self._clock.grading = max(self._clock.grading, end)

    def share_(self, fd: int, size: int, layout: Layout) -> None:
        """Hand the worker the memory of a ring; it gives the one before up."""
        header = {"op": "ring", "size": size, "layout": layout.to_json()}
        self._conversation().request(header, fds=(fd,), seconds=RING_SECONDS)

    def kernels_(self) -> KernelFiles:
        """Return what was compiled in the worker, for the next one to begin with."""
        value = self._conversation().request({"op": "kernels"})
        return expect(value, KernelFiles, "what was compiled")

    def restore_(self, files: KernelFiles) -> None:
        """Hand the worker what an earlier one has compiled."""
        self._conversation().request({"op": "restore"}, files)

    def race_(
        self, function: str | None, count: int, options: dict[str, object], seconds: float
    ) -> None:
        """Let the worker call a function, or one that does nothing, once for each slot."""
        header = {"op": "race", "function": function, "count": count, "options": options}
        self._conversation().request(header, seconds=seconds)

    def retire_(self) -> None:
        """Give the worker up: the next call gets a fresh one. It is killed beside what follows."""
        kills = [*self._groups.retire(), *self._referee.retire()]
        if self._talk is not None and self._worker is not None:
            self._talk.over = True
            kills.append(self._worker.kill)
            self._talk = self._worker = None
        for kill in kills:
            killer = threading.Thread(target=kill)
            killer.start()
            self._killers.append(killer)

    def close_(self) -> None:
        """Give the worker up and wait until every one that was used is gone."""
        self.retire_()
        if self._compiler is not None:
            self._compiler.close()
            self._compiler = None
        for killer in self._killers:
            killer.join()

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
            try:
                self._talk.load(self._file)
            except SubmissionFault as fault:
                # What fails on import fails for every test; it need not be tried again.
                self._load_fault = fault
                raise
        return self._talk

    # -- for the tests ----------------------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._conversation().call(["function", name], args, kwargs)

    def gradients(
        self, name: str, tensors: tuple[Any, ...], upstream: Any, **options: Any
    ) -> Any:  # a tuple as long as tensors: a gradient, or None, for each
        """Call a function on tensors that require gradients, and let autograd go back through it.

        What is differentiated is the sum of its result times ``upstream``, which has its shape.
        """
        target = ["gradients", name]
        return self._conversation().call(target, (tensors, upstream), options)

    def together(self, name: str, *cases: tuple[Any, ...]) -> Any:  # a list of results
        """Call a function on each case in turn; no result leaves the worker before the last call.

        A result that shares memory with a later one holds the later one's values.
        """
        return self._conversation().call(["together", name], cases, {})

    def gradients_together(self, name: str, *cases: tuple[tuple[Any, ...], Any]) -> Any:
        """Do what ``gradients`` does for several (tensors, upstream), as for layers of one model.

        All go forward before the first goes back. Returns a list of what ``gradients`` returns.
        """
        return self._conversation().call(["gradients_together", name], cases, {})

    def together_of(self, owner: Proxy, method: str, *cases: tuple[Any, ...]) -> Any:
        """Do what ``together`` does for a method of an object."""
        return self._conversation().call(["together", owner.number_, method], cases, {})

    def backend(self) -> Backend:
        """Return a new backend for ``torch.compile`` that counts, and can tell its graphs.

        What was compiled before is forgotten, so that torch's limits and guesses begin anew.
        """
        value = self._conversation().request({"op": "backend"})
        return Backend(expect(value, Proxy, "a backend"))

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

    def assign(self, owner: Proxy, name: str, value: Any) -> None:
        """Set an attribute of an object in the worker."""
        header = {"op": "set", "object": owner.number_, "name": name}
        self._conversation().request(header, value)

    def places(self, owner: Proxy, name: str) -> list[int]:
        """Return where the memory of each tensor begins in a list that an object has."""
        value = self._conversation().request(
            {"op": "places", "object": owner.number_, "name": name}
        )
        return expect(value, list[int], f"where {name} lie")

    def given(self, module: str) -> _Given:
        """Return a given module as it is inside the worker."""
        return _Given(self, module)

    def handle(self, name: str, given: str = "") -> Proxy:
        """Return a name itself, uncalled: a class of the submission, or a name of a given module.

        ``student.handle("Int8Linear").from_float(linear)`` calls a classmethod.
        """
        target = ["given", given, name] if given else ["function", name]
        value = self._conversation().request({"op": "handle", "target": target})
        return expect(value, Proxy, name)

    def held_bytes(self) -> int:
        """Return the bytes of all tensors that are alive in the worker, shared storages once."""
        return expect(self._conversation().request({"op": "held"}), int, "the bytes held")

    def private_bytes(self) -> int | None:
        """Return the bytes of the worker's process alone, as the kernel counts them.

        What is held in numpy, bytes or C counts too, and so does the interpreter: compare two
        readings that lie megabytes apart, the first after a call like those in between. None on a
        GPU, whose memory it does not cover, and where the kernel does not tell.
        """
        talk = self._conversation()
        talk.request({"op": "trim"})
        pid = talk.worker.channel.sender
        return private_bytes(pid) if pid and self._setting.device == "cpu" else None

    def record(self, name: str, /, **fields: Any) -> Record:
        """Return an instance of a dataclass of the given code."""
        return Record(name, fields)

    def lend(
        self,
        target: Any,
        methods: tuple[str, ...] = ("__call__",),
        attributes: tuple[str, ...] = (),
        *,
        keep: bool = False,
        steady: bool = False,
    ) -> Lent:
        """Let the submission use one of our objects, by these names, in the call it is passed to.

        ``keep`` extends that to the rest of the test. With ``steady`` each answer tells the
        attributes too, which saves asking: numbers that change in the object's own methods alone.
        ``Refusal`` raised in it reaches the submission.
        """
        return Lent(target, methods, attributes, keep, steady)

    def watch(self, value: Any) -> Watched:
        """Return a stand-in for an argument, for ``compare.assert_unmodified`` after the call.

        A tensor, a list or dictionary of tensors and plain values, or a ``record``.
        """
        return Watched(value)

    def generator(self, seed: int) -> Proxy:
        """Return a generator that lives in the worker, and goes on from call to call.

        A ``torch.Generator`` that is passed as it is starts anew in each call.
        """
        value = self._conversation().request({"op": "generator", "seed": seed})
        return expect(value, Proxy, "a generator")

    def overwritten(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function, and then write over all that it returned; a copy comes back.

        An argument that shares memory with the result shows it, if it is watched.
        """
        return self._conversation().call(["overwritten", name], args, kwargs)

    def raises(self, kind: type[Exception], naming: str = "") -> AbstractContextManager[None]:
        """Expect the submission to raise ``kind``, with ``naming`` as a word of the message."""
        return raises(kind, naming)

    def spawn(self, world_size: int, backend: str = "") -> Group:
        """Return the group of that many ranks, each with the submission loaded.

        ``backend`` is "nccl" where the lab is graded on a GPU, else "gloo", unless it is named.
        Raises NotGraded if there are fewer GPUs than ranks.
        """
        if self._load_fault is not None:
            raise self._load_fault
        return self._groups.get(world_size, backend)

    @contextmanager
    def time_limit(self, seconds: float) -> Generator[None, None, None]:
        """Shorten the deadline of each call inside."""
        self._clock.limits.append(seconds)
        try:
            yield
        finally:
            self._clock.limits.remove(seconds)

    def checkpoint(self, name: str) -> Folder:
        """Return a checkpoint that the lab lists."""
        seen = f"{self._setting.seen('given')}/labs/checkpoints/{name}"
        return Folder(self._setting.checkpoints[name], seen)

    def new_folder(self) -> Folder:
        """Return an empty folder that this worker can read and only we can write."""
        self._conversation()
        worker = self._worker
        assert worker is not None
        host = Path(tempfile.mkdtemp(dir=worker.folder))
        host.chmod(0o755)
        return Folder(host, f"{worker.seen_folder}/{host.name}")


class _Given:
    """A given module inside the worker."""

    def __init__(self, student: Student, module: str) -> None:
        self._student = student
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        talk = self._student._conversation()  # pyright: ignore[reportPrivateUsage]
        return lambda *args, **kwargs: talk.call(["given", self._module, name], args, kwargs)
