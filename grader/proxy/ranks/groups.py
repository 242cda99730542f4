"""The groups of the task that runs: one sandbox for all sizes, each joined when it is asked for."""

import secrets
from collections.abc import Callable
from typing import Any

import torch

from grader.errors import (
    NotGraded,
    SandboxError,
    StudentCrashed,
    SubmissionFault,
)
from grader.proxy.conversation.calls import Calls
from grader.proxy.conversation.clock import Clock, Imports
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import Place
from grader.proxy.ranks.group import Group, Member
from grader.proxy.ranks.ranks import RankProcess, RankSandbox
from grader.sandbox.pace import PACE
from grader.sandbox.process import START_SECONDS, WorkerProcess
from grader.sandbox.setting import Setting

DEVICES = {"gloo": "cpu", "nccl": "cuda"}  # by backend


class Groups:
    """Makes groups, and keeps each until the task ends or its sandbox is killed."""

    def __init__(
        self,
        setting: Setting,
        clock: Clock,
        source: str,
        file: str,
        take: Callable[[], WorkerProcess],
        asked: set[str] | None = None,
        calls: Calls | None = None,
    ) -> None:
        self._setting = setting
        self._clock = clock
        self._source = source
        self._file = file
        self._take = take
        self._asked = asked
        self._calls = calls
        self._sandboxes: dict[str, RankSandbox] = {}  # by backend
        self._groups: dict[tuple[str, int], Group] = {}
        self._load_fault: SubmissionFault | None = None
        self._imports = Imports(clock)
        self._latest: tuple[str, int] | None = None  # that the test has asked for

    @property
    def alive(self) -> bool:
        """Whether a sandbox is there that the next group can come from."""
        return any(not sandbox.over for sandbox in self._sandboxes.values())

    def get(self, size: int, backend: str = "") -> Group:
        """Return the group of a size; what the submission raises on import is raised here."""
        backend = backend or ("gloo" if self._setting.device == "cpu" else "nccl")
        if not 1 <= size <= self._setting.ranks:
            raise ValueError(f"{size} ranks, but limits.ranks in lab.toml is {self._setting.ranks}")
        if backend == "nccl" and (gpus := torch.cuda.device_count()) < size:
            raise NotGraded(f"{size} ranks need {size} GPUs; this machine has {gpus}")
        self._latest = backend, size
        if self._load_fault is not None:
            raise self._load_fault
        group = self._groups.get((backend, size))
        if group is None or group.over:
            started = PACE.now()
            group = self._form(size, backend)
            # How long a group takes to form is ours, not the submission's.
            self._clock.test += PACE.now() - started
            try:
                in_time = self._imports.in_time(lambda seconds: group.load_(self._file, seconds))
            except SubmissionFault as fault:
                # What fails on import fails for every test; it need not be tried again.
                self._load_fault = fault
                raise
            if not in_time:
                return self.get(size, backend)
            self._groups[backend, size] = group
        return group

    def _form(self, size: int, backend: str) -> Group:
        """Let the ranks of a size join; they have not loaded anything yet."""
        sandbox = self._sandboxes.get(backend)
        fresh = False
        if sandbox is None or sandbox.over:
            fresh = True
            sizes = range(1, self._setting.ranks + 1)
            sandbox = RankSandbox(self._take(), sizes, DEVICES[backend])
            self._sandboxes[backend] = sandbox
        members = [
            Member(rank, self._conversation(process, backend, rank), process)
            for rank, process in enumerate(sandbox.ranks[size])
        ]
        group = Group(members, sandbox, self._source.splitlines())
        join = joining(self._setting, sandbox, backend, size)
        jobs = [
            lambda m=member: m.talk.request({**join, "rank": m.rank}, seconds=START_SECONDS)
            for member in members
        ]
        try:
            with sandbox.allowing(size):
                group.run(jobs)
        except SubmissionFault as fault:
            if fresh:
                raise SandboxError(f"the ranks did not find each other: {fault}") from None
            raise StudentCrashed(f"the ranks did not find each other: {fault}") from None
        return group

    def _conversation(self, process: RankProcess, backend: str, rank: int) -> Conversation:
        device = DEVICES[backend]
        # All ranks are called alike, but for their parts of the arguments: the first one tells.
        calls = None if rank else self._calls
        return Conversation(process, device, self._clock, self._source, self._asked, calls)

    def printed(self) -> str:
        """Return what the ranks have printed since the last time, and forget it."""
        texts: list[str] = []
        for sandbox in self._sandboxes.values():
            texts.append(sandbox.parent.output())
            sandbox.parent.forget_output()
        return "".join(texts)

    def inspect(self) -> None:
        """Look at what of ours runs beside each rank, as ``Conversation.look`` does."""
        for group in self._groups.values():
            group.inspect_()

    def begin(self) -> None:
        """End every loan to a rank, and forget what has failed: a test begins."""
        self._latest = None
        for group in self._groups.values():
            group.begin_()

    def place(self) -> Place | None:
        """Return where the group that the test asked for last has failed; None without one."""
        if self._latest is None:
            return None
        backend, size = self._latest
        group = self._groups.get((backend, size))
        ranks = group.failed_ if group is not None else (None,) * size
        return Place(size=size, backend=backend, ranks=ranks)

    def retire(self) -> list[Callable[[], object]]:
        """Give every group up; return what kills their sandboxes."""
        kills: list[Callable[[], object]] = [sandbox.kill for sandbox in self._sandboxes.values()]
        for group in self._groups.values():
            group.close_()
        self._groups.clear()
        self._sandboxes.clear()
        return kills


def joining(setting: Setting, sandbox: RankSandbox, backend: str, size: int) -> dict[str, Any]:
    """Return the request by which ranks of a sandbox find each other, but for their numbers."""
    parent = sandbox.parent.seen_folder if setting.level == "none" else "/tmp"
    # Other groups of the submission may be at work there: they cannot guess the name.
    store = f"{parent}/store-{secrets.token_hex(16)}"
    return {"op": "join", "backend": backend, "world": size, "store": store}
