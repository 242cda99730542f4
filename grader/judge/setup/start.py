"""How a session's process starts: anew for one grading, or forked, for many in a row.

What is forked has torch and pytest imported, which is half of the work of a small grading. Nothing
but our own code runs in a session, so the one it is forked from stays as clean as it began.
"""

import contextlib
import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from types import TracebackType
from typing import IO, Protocol, Self

from grader import ROOT
from grader.environment import To, crossing
from grader.errors import JudgeError

SESSION = "grader.judge.session"
PID = struct.Struct("!q")
MOST_HANDED = 3  # descriptors
PR_SET_PDEATHSIG = 1
UMASK = 0o022  # workers may be other users, and read what a session writes


class Session(Protocol):
    """A process that takes its configuration on ``stdin`` and tells its events on ``stdout``."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None:
        """End it now."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Starter(Protocol):
    """Starts a session in a folder."""

    def __call__(self, folder: str) -> Session: ...


def start_anew(folder: str) -> Session:
    """Start a session with an interpreter of its own."""
    return subprocess.Popen(
        start_line(SESSION, "main()"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        start_new_session=True,  # an interrupt is ours to handle
        env=crossing(To.SESSION),
        umask=UMASK,
    )


def start_line(module: str, call: str) -> list[str]:
    """Return the command that makes a call of a module of ours, such as ``SESSION``, "main()"."""
    boot = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {module} as ours; ours.{call}"
    return [sys.executable, "-I", "-c", boot]


class Forked:
    """A session that was forked."""

    def __init__(self, pid: int, stdin: int, stdout: int) -> None:
        # Its number could be another's by the time that it is killed; this descriptor cannot.
        self._pidfd = os.pidfd_open(pid)
        self.stdin: IO[bytes] | None = os.fdopen(stdin, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(stdout, "rb")

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        os.close(self._pidfd)


class ForkServer:
    """A process that has imported what sessions need, and forks one whenever it is asked to."""

    def __init__(self, module: str = SESSION, *arguments: object) -> None:
        """Let a module of ``grader`` ``serve``: a descriptor comes before the arguments."""
        self._socket, theirs = socket.socketpair()
        with theirs:
            call = f"serve{(theirs.fileno(), *arguments)!r}"
            self._process = subprocess.Popen(
                start_line(module, call),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=crossing(To.SESSION),
                umask=UMASK,
            )
        self._lock = threading.Lock()

    def __call__(self, folder: str, handed: tuple[int, ...] = ()) -> Session:
        """Fork a session and hand it descriptors; raises JudgeError if the server is gone."""
        (stdin, our_stdin), (our_stdout, stdout) = os.pipe(), os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._socket, [folder.encode()], [stdin, stdout, *handed])
                pid = PID.unpack(self._socket.recv(PID.size, socket.MSG_WAITALL))[0]
        except (OSError, struct.error):
            os.close(our_stdin)
            os.close(our_stdout)
            raise JudgeError("the process that forks sessions is gone") from None
        finally:
            os.close(stdin)
            os.close(stdout)
        return Forked(pid, our_stdin, our_stdout)

    def close(self) -> None:
        """End the server, and with it what it has forked."""
        self._process.kill()
        self._process.wait()
        self._socket.close()


def die_with_parent() -> None:
    """Let this process be killed when the one that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def die_with(parent: int) -> None:
    """The same for a forked process, whose parent may have ended before it could ask for that."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def serve_forks(sock: socket.socket) -> list[int] | None:
    """Fork for each folder that comes with descriptors: first a standard input and output.

    Returns None in the server once the other side is gone; in each session, what else was handed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a session
    while True:
        folder, fds, _, _ = socket.recv_fds(sock, 4096, MOST_HANDED)
        if not folder:
            return None
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with(server)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            sock.close()
            os.setsid()
            os.chdir(folder.decode())
            for number, fd in enumerate(fds[:2]):
                os.dup2(fd, number)
                os.close(fd)
            return fds[2:]
        for fd in fds:
            os.close(fd)
        sock.sendall(PID.pack(pid))
