"""The quick way to grade files of ours: sessions and workers are forked, code is read in place.

What it spares is imports, two thirds of a proof. What it keeps is all that a verdict is made of:
the wire, arenas, seeds, limits, deadlines, environment, and a process for each task that no other
has used. What it lacks is the wall, so nothing that could be a stranger's is graded like this: no
command line but ``lab check`` leads here. ``sample`` holds both ways against each other.
"""

import contextlib
import functools
import gc
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader.errors import JudgeError
from grader.judge import session
from grader.judge.grade import grade, worker_setting
from grader.judge.setup.start import ForkServer, die_with_parent, serve_forks
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report
from grader.readers import Budget
from grader.reading import syntax
from grader.reading.reader import Facts, facts_of
from grader.sandbox.allowance import raise_limits
from grader.sandbox.confinement.bubblewrap import worker_environment
from grader.sandbox.fork_server import ForkedProcess
from grader.sandbox.launch import interpreter, worker_config
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged


def fork_worker(fork_server: int, setting: Setting) -> WorkerProcess:
    """Return a worker that a fork server forks; the descriptor is that of its socket."""

    def launch(setting: Setting, folder: Path, handed: list[int]) -> ForkedProcess:
        request = {
            "folder": str(folder),
            "environment": worker_environment(setting.device, str(folder)),
            "config": worker_config(setting),
        }
        process = ForkedProcess(fork_server, request, handed)
        if problem := process.problem():
            process.wait()
            process.stdout.close()
            raise JudgeError(f"no worker can be forked: {problem}")
        return process

    return WorkerProcess(setting, launch)


class WorkerServer:
    """A process that has imported what workers of some labs get, and forks them."""

    def __init__(self, lab: Lab) -> None:
        self._folder = contextlib.ExitStack()
        self.stage = self._folder.enter_context(staged(lab, {}, "none"))
        here, there = Path(__file__).parent, self.stage / "judge" / "grader" / "prove" / "forking"
        there.mkdir(parents=True)
        for name in ("__init__.py", "../__init__.py", "fork_server.py"):
            shutil.copy(here / name, there / name)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        setting = worker_setting(lab, self.stage, {}, "cpu", "none")
        with theirs:
            self._process = subprocess.Popen(
                interpreter(setting, "prove.forking.fork_server", [theirs.fileno()]),
                env=worker_environment("cpu", str(self.stage)),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=self.stage,
                start_new_session=True,
            )

    def fileno(self) -> int:
        """Return the descriptor that forks are asked for through."""
        return self._socket.fileno()

    def close(self) -> None:
        """End it, and with it all that it has forked."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._folder.close()


class Quick:
    """Starts what gradings of some labs are forked from; ``way`` returns how to grade one."""

    def __init__(self, labs: Sequence[Lab]) -> None:
        for lab in labs:
            raise_limits(lab, "cpu")  # which what forks hands down
        self._read = _Reader()
        self._workers: dict[Lab, WorkerServer] = {}
        prepared: dict[Any, WorkerServer] = {}
        for lab in labs:
            key = lab.given, lab.preload, "triton" in lab.imports, lab.limits.ranks
            self._workers[lab] = prepared[key] = prepared.get(key) or WorkerServer(lab)
        self._server = ForkServer("grader.prove.forking.forked", *(str(lab.folder) for lab in labs))

    def judge(self, lab: Lab) -> Callable[..., Report] | None:
        """Return the judge's ``grade`` for one of the labs, on a CPU and at level ``none``."""
        workers = self._workers.get(lab)
        if workers is None:
            return None
        handed = (workers.fileno(),)
        start = functools.partial(self._server, handed=handed)
        return functools.partial(grade, start=start, read=self._read)

    def close(self) -> None:
        """End it all."""
        self._server.close()
        for workers in {*self._workers.values()}:
            workers.close()


class _Reader:
    """Reads code in this process, one file at a time: the parser's settings are the process's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts = functools.cache(self._read)

    def __call__(self, code: bytes, budget: Budget) -> Facts:
        return self._facts(code)

    def _read(self, code: bytes) -> Facts:
        with self._lock:
            facts = syntax.read(code)
        return facts_of(json.loads(json.dumps(facts)))


def serve(fd: int, *folders: str) -> None:
    """Import what sessions need and the suites of labs, then become a session in each fork."""
    die_with_parent()
    session.preload()
    for folder in folders:
        session.collect(load_lab(Path(folder)))
    gc.freeze()  # what sessions share is not looked at again, and so not copied
    handed = serve_forks(socket.socket(fileno=fd))
    if handed is not None:
        session.main(functools.partial(fork_worker, *handed))
    os._exit(0)
