"""Start, limit and kill one confined worker. This docstring is the threat model.

Covered, at level ``bwrap``:
- reading anything of the host but the Python installation, the given code, the checkpoint and the
  submission;
- writing anything but a sized ``/tmp`` and ``/dev/shm``, which vanish with the worker;
- the network, other processes, their memory, shared memory and signals; new namespaces; the system
  calls that ``seccomp`` names; capabilities; the environment and command line of the judge;
- memory, number of processes and share of the processor (``limits``), open files, size of files,
  output, time;
- what the kernel counts by user, where workers are ``divided``: each is one of its own (``users``);
- surviving: the namespace dies with the judge, and is killed after each task.

Not covered:
- faults of the kernel, of bubblewrap or of a GPU driver; what timing on a shared machine reveals;
- what a worker does to itself after it has loaded the submission: its answers prove nothing;
- level ``none``: no isolation at all, for a student who grades their own code.

``launch`` starts the process, by a command line that ``bubblewrap`` writes; ``fork_server`` spares
workers their imports, and they make the same walls from within.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import SandboxError, StudentCrashed, StudentMemory, SubmissionFault
from grader.sandbox.confinement import limits
from grader.sandbox.launch import Launch, start_alone
from grader.sandbox.output import Printed, has_come
from grader.sandbox.pace import PACE
from grader.sandbox.setting import Setting

if TYPE_CHECKING:
    from grader.wire.channel import Channel

START_SECONDS = 120.0
# Bytes of a message's large buffers, and of all that a worker's messages may hold in the judge. The
# labs send a sixth of it at most. Pages are taken only when touched.
ARENA = 256 << 20


class WorkerProcess:
    """A running worker, from the judge's side; ``channel`` talks to it once it is ready."""

    channel: "Channel"

    def __init__(self, setting: Setting, launch: Launch | None = None) -> None:
        """``launch`` starts the process; None: an interpreter of its own, as the level says."""
        self._setting = setting
        self.folder = Path(tempfile.mkdtemp(dir=folders_of(setting)))
        self.folder.chmod(0o755)
        self.seen_folder = "/folder" if setting.level == "bwrap" else str(self.folder)
        self._socket, theirs = socket.socketpair()
        # To the worker and from it; closed once they are mapped.
        self._arenas: tuple[int, ...] = (make_arena(), make_arena())
        handed = [theirs.fileno(), *self._arenas]
        try:
            self._process = (launch or start_alone)(setting, self.folder, handed)
        except BaseException:
            self._socket.close()
            self._close_arenas()
            raise
        finally:
            theirs.close()
        self._cage: limits.Cage | None = None
        assert self._process.stdout is not None
        self._printed = Printed(self._process.stdout, setting.output)
        self._killed = False
        self._reason = ""

    def is_ready(self) -> bool:
        """Tell, without waiting, whether the worker has said that it is ready, or has died."""
        return has_come(self._socket.fileno(), wait=0)

    def wait_ready(self) -> None:
        """Wait until the worker has imported all that is given, then put it under its limits."""
        # Imported here: a worker starts while the judge itself still imports torch.
        from grader.wire.channel import Channel
        from grader.wire.errors import Late, WireError

        to, fro = self._arenas
        self.channel = Channel(self._socket, fro, to, knows_sender=True, holds=ARENA, now=PACE.now)
        self._close_arenas()
        try:
            self.channel.receive(PACE.now() + START_SECONDS)
        except (Late, WireError) as error:
            self.kill()
            text = self.output()[-400:].strip()
            raise SandboxError(f"a worker did not start: {text or error}") from None
        setting = self._setting
        self._cage = limits.cage(
            *(self._process.pid, setting.memory, setting.processes),
            kind=setting.cage,
            shares=setting.ranks,
        )
        self._printed.forget()
        PACE.watch(self._process.pid)

    def used(self) -> int:
        """Return how many bytes count for the worker's limit of memory now."""
        return self._cage.used() if self._cage else 0

    def allow(self, more: int) -> None:
        """Raise the worker's limit of memory by so many bytes, or lower it by fewer than none."""
        if self._cage:
            self._cage.allow(more)

    def _close_arenas(self) -> None:
        for fd in self._arenas:
            os.close(fd)
        self._arenas = ()

    def output(self) -> str:
        """Return what was printed so far, at most the limit."""
        return self._printed.text(wait=not self._killed)

    def forget_output(self) -> None:
        """Start afresh for the next test."""
        self._printed.forget()

    def fault(self) -> SubmissionFault:
        """Say why the worker is gone; it is killed first if it is not."""
        code = self._exit_code()
        return self.broken_limit() or ended(128 - code if code and code > 128 else code)

    def broken_limit(self) -> SubmissionFault | None:
        """Kill the worker, and say which limit it was already being killed for, if any."""
        self.kill()
        match self._reason:
            case "memory":
                limit = self._setting.memory >> 20
                return StudentMemory(f"the code took more than the {limit} MiB that it may use")
            case "processes":
                limit = self._setting.processes
                return StudentCrashed(f"the code started more than {limit} processes")
            case _:
                return None

    def _exit_code(self) -> int | None:
        try:
            return self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """Kill everything in the worker's namespace and remove its folder."""
        if self._killed:
            return
        self._killed = True
        PACE.forget(self._process.pid)
        if self._setting.level == "none":
            for pid in limits.descendants(self._process.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._socket.close()
        self._close_arenas()
        self._printed.close()
        if self._cage:
            self._reason = self._cage.why_killed()
            self._cage.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def folders_of(setting: Setting) -> Path:
    """Return where the folders of a grading's workers lie."""
    folders = setting.stage / "folders"
    folders.mkdir(exist_ok=True)
    folders.chmod(0o755)
    return folders


def ended(code: int | None) -> SubmissionFault:
    """Say how a process ended: its status, or minus the signal; None if it did not."""
    if code is None:
        return StudentCrashed("the code closed its connection to the judge")
    with contextlib.suppress(ValueError):
        return StudentCrashed(f"the process was ended by {signal.Signals(-code).name}")
    return StudentCrashed(f"the process ended itself with status {code}")


def make_arena(size: int = ARENA) -> int:
    """Return the descriptor of a memory file that nobody can grow, shrink or unseal."""
    fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd
