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
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from grader.errors import JudgeError
from grader.judge import session
from grader.judge.grade import grade, worker_setting
from grader.judge.start import ForkServer, die_with_parent, serve_forks
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report
from grader.reading import syntax
from grader.reading.reader import Facts, facts_of
from grader.sandbox.bubblewrap import worker_environment
from grader.sandbox.output import has_come
from grader.sandbox.process import Launch, Setting, WorkerProcess, worker_config
from grader.sandbox.stage import staged

MAX_ANSWER = 1 << 12
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # numpy's would start others when it is imported
BOOT = (
    "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv.pop()); "
    "from grader.prove.nursery import main; main()"
)


class ForkedProcess:
    """A worker that a nursery has forked, as ``subprocess`` would show it."""

    def __init__(self, nursery: int, setting: Setting, folder: Path, handed: list[int]) -> None:
        self._hears, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, printed = os.pipe()
        self.stdout: IO[bytes] = os.fdopen(ours, "rb")
        request = {
            "folder": str(folder),
            "environment": worker_environment(setting.device, str(folder)),
            "config": worker_config(setting),
        }
        # Other sessions ask it too: a message is whole, and the answer has a socket of its own.
        with socket.socket(fileno=os.dup(nursery)) as asking, theirs:
            fds = [*handed, printed, theirs.fileno()]
            with contextlib.suppress(OSError):  # nobody will answer then
                socket.send_fds(asking, [json.dumps(request).encode()], fds)
        os.close(printed)
        data, self._pidfds, _, _ = socket.recv_fds(self._hears, MAX_ANSWER, 1)
        answer: dict[str, Any] = json.loads(data) if data else {"refused": "the nursery is gone"}
        if "refused" in answer:
            self.stdout.close()
            self._hears.close()
            raise JudgeError(f"no worker can be forked: {answer['refused']}")
        self.pid: int = answer["pid"]
        self._code: int | None = None
        self._lock = threading.Lock()

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; raises ``subprocess.TimeoutExpired``."""
        with self._lock:
            if self._code is None:
                self._code = self._hear_end(timeout)
                self._hears.close()
                os.close(self._pidfds.pop())
            return self._code

    def _hear_end(self, timeout: float | None) -> int:
        if not has_come(self._hears.fileno(), None if timeout is None else int(timeout * 1000)):
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
        data = self._hears.recv(MAX_ANSWER)
        # A nursery that is gone has taken its workers along.
        return json.loads(data)["ended"] if data else -signal.SIGKILL

    def kill(self) -> None:
        """End it now."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            for pidfd in self._pidfds:  # none once it has ended
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def fork_worker(nursery: int, setting: Setting) -> WorkerProcess:
    """Return a worker that a nursery forks; the descriptor is that of its socket."""
    launch: Launch = functools.partial(ForkedProcess, nursery)
    return WorkerProcess(setting, launch)


class Nursery:
    """A process that has imported what workers of some labs get, and forks them."""

    def __init__(self, lab: Lab) -> None:
        self._folder = contextlib.ExitStack()
        self.stage = self._folder.enter_context(staged(lab, {}, "none"))
        place = self.stage / "judge" / "grader" / "prove"
        place.mkdir()
        for name in ("__init__.py", "nursery.py"):
            shutil.copy(Path(__file__).with_name(name), place / name)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = worker_config(worker_setting(lab, self.stage, {}, "cpu", "none"))
        line = [str(theirs.fileno()), json.dumps(config), str(self.stage / "judge")]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-u", "-c", BOOT, *line],
                env=worker_environment("cpu", str(self.stage)) | ONE_THREAD,
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
        self._read = functools.cache(_Reader())
        self._nurseries: dict[Lab, Nursery] = {}
        prepared: dict[Any, Nursery] = {}
        for lab in labs:
            key = lab.given, "triton" in lab.imports, lab.limits.ranks
            self._nurseries[lab] = prepared[key] = prepared.get(key) or Nursery(lab)
        self._server = ForkServer("grader.prove.forked", *(str(lab.folder) for lab in labs))

    def judge(self, lab: Lab) -> Callable[..., Report] | None:
        """Return the judge's ``grade`` for one of the labs, on a CPU and at level ``none``."""
        nursery = self._nurseries.get(lab)
        if nursery is None:
            return None
        handed = (nursery.fileno(),)
        start = functools.partial(self._server, handed=handed)
        return functools.partial(grade, start=start, read=self._read)

    def close(self) -> None:
        """End it all."""
        self._server.close()
        for nursery in {*self._nurseries.values()}:
            nursery.close()


class _Reader:
    """Reads code in this process, one file at a time: the parser's settings are the process's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, code: bytes) -> Facts:
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
