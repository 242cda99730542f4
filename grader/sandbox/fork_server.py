"""Spare workers their imports: one sandbox for a grading, in which they are forked.

The imports are nine tenths of a start. What has done them (``worker/fork_server``) sees what
a worker sees, but may make namespaces; no submission ever speaks to it. Each fork makes the walls
of a worker itself (``worker/confinement``) before it says that it is ready. Where that is not to be
had each worker starts alone, behind the same walls: ``ForkServer.problem`` says why.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

from grader.errors import SandboxError
from grader.sandbox.confinement import seccomp
from grader.sandbox.confinement.bubblewrap import SCRATCH_BYTES, installation
from grader.sandbox.launch import interpreter, start_confined, worker_config
from grader.sandbox.output import has_come
from grader.sandbox.process import START_SECONDS, WorkerProcess, folders_of
from grader.sandbox.setting import Setting

MAX_ANSWER = 1 << 12


class ForkedProcess:
    """A worker that was forked, as ``subprocess`` would show it; to ask for one takes no time."""

    def __init__(self, fork_server: int, request: dict[str, Any], handed: list[int]) -> None:
        """``fork_server`` is a descriptor of a socket to what forks."""
        self._hears, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, printed = os.pipe()
        self.stdout: IO[bytes] = os.fdopen(ours, "rb")
        # Other sessions may ask it too: a message is whole, and answers have a socket of their own.
        with socket.socket(fileno=os.dup(fork_server)) as asking, theirs:
            fds = [*handed, printed, theirs.fileno()]
            with contextlib.suppress(OSError):  # nobody will answer then
                socket.send_fds(asking, [json.dumps(request).encode()], fds)
        os.close(printed)
        self._pid = 0
        self._pidfd = -1
        self._problem: str | None = None  # known once it is born, or was refused
        self._code: int | None = None
        self._lock = threading.RLock()

    def problem(self) -> str:
        """Wait until it is born; return why it will not be, or an empty string."""
        with self._lock:
            if self._problem is None:
                self._problem = self._hear_birth()
            return self._problem

    def _hear_birth(self) -> str:
        if not has_come(self._hears.fileno(), int(START_SECONDS * 1000)):
            return "what forks does not answer"
        data, fds, _, _ = socket.recv_fds(self._hears, MAX_ANSWER, 1)
        answer: dict[str, Any] = json.loads(data) if data else {}
        if "born" not in answer or not fds:
            return str(answer.get("refused", "the fork server is gone"))
        self._pidfd = fds[0]
        lines = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text().splitlines()
        self._pid = next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))
        return "" if self._pid > 0 else "it has ended"

    @property
    def pid(self) -> int:
        """Its number, as the judge sees it; that of the first process of its namespace."""
        self.problem()
        return self._pid

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; raises ``subprocess.TimeoutExpired``."""
        with self._lock:
            if self._code is None:
                self._code = -signal.SIGKILL if self.problem() else self._hear_end(timeout)
                self._hears.close()
                if self._pidfd >= 0:
                    os.close(self._pidfd)
            return self._code

    def _hear_end(self, timeout: float | None) -> int:
        if not has_come(self._hears.fileno(), None if timeout is None else int(timeout * 1000)):
            raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
        data = self._hears.recv(MAX_ANSWER)
        # A fork server that is gone has taken its workers along.
        return json.loads(data)["ended"] if data else -signal.SIGKILL

    def kill(self) -> None:
        """End it now, with all that is in its namespace."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if not self.problem() and self._code is None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


class ForkServer:
    """Starts the workers of one grading; nothing starts before the first is asked for."""

    def __init__(self) -> None:
        self.problem = ""  # why workers start alone
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def begin(self, setting: Setting) -> None:
        """Start what forks, so that it has imported what it needs when the first worker is due."""
        self.problem = self.problem or unfit(setting)
        if not self.problem:
            with contextlib.suppress(SandboxError):  # the first worker will say so
                self._begun(setting)

    def start(self, setting: Setting) -> WorkerProcess:
        """Return a worker that may not be ready yet; all get the same but for limits."""
        self.problem = self.problem or unfit(setting)
        if not self.problem:
            try:
                return WorkerProcess(setting, self._fork)
            except SandboxError as error:
                self.problem = error.message
        return WorkerProcess(setting)

    def instead(self, setting: Setting, error: SandboxError) -> WorkerProcess:
        """Start alone what could not be forked, and all that follow; raise what is our fault."""
        if self._process is None:  # it was alone
            raise error
        self.problem = self.problem or error.message
        return WorkerProcess(setting)

    def _fork(self, setting: Setting, folder: Path, handed: list[int]) -> ForkedProcess:
        program = seccomp.program(cuda=setting.device != "cpu")
        assert program is not None
        request = {
            "folder": folder.name,
            "scratch": SCRATCH_BYTES,
            "filter": program.hex(),
            "config": worker_config(setting),
        }
        return ForkedProcess(self._begun(setting).fileno(), request, handed)

    def _begun(self, setting: Setting) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                handed = [theirs.fileno()]
                python = interpreter(setting, "worker.fork_server", handed)
                folders = folders_of(setting)
                self._process = start_confined(setting, python, folders, handed, forks=True)
        return self._socket

    def close(self) -> None:
        """End what forks, and with it all that it has forked."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._socket is not None:
            self._socket.close()


def unfit(setting: Setting) -> str:
    """Return why workers cannot be forked here, or an empty string."""
    if setting.level != "bwrap":
        return "there is no sandbox"
    if setting.ranks > 1:
        return "a worker forks its ranks itself"
    if seccomp.program(cuda=setting.device != "cpu") is None:
        return "there is no filter of system calls for this machine"
    if any(folder.startswith(("/tmp/", "/dev/")) for folder in installation(setting.device)):
        return "Python lies where each worker has a folder of its own"
    return ""
