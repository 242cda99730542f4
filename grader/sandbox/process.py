"""Start, limit and kill one confined worker. This docstring is the threat model.

Covered, at level ``bwrap``:
- reading anything of the host but the Python installation, the given code, the checkpoint and the
  submission;
- writing anything but a sized ``/tmp`` and ``/dev/shm``, which vanish with the worker;
- the network, other processes, their memory, shared memory and signals; new namespaces; the system
  calls that ``seccomp`` names; capabilities; the environment and command line of the judge;
- memory and number of processes (``limits``), open files, size of files, output, time;
- what the kernel counts by user, where workers are ``divided``: each is one of its own (``users``);
- surviving: the namespace dies with the judge, and is killed after each task.

Not covered:
- faults of the kernel, of bubblewrap or of a GPU driver; what timing on a shared machine reveals;
- what a worker does to itself after it has loaded the submission: its answers prove nothing;
- level ``none``: no isolation at all, for a student who grades their own code.

``bubblewrap`` writes the command line that does it; ``nursery`` spares workers their imports, and
they make the same walls from within.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

from grader.errors import SandboxError, StudentCrashed, StudentMemory, SubmissionFault
from grader.sandbox import limits
from grader.sandbox.bubblewrap import confine, launcher_environment, worker_environment
from grader.sandbox.output import Printed, has_come
from grader.sandbox.pace import PACE

if TYPE_CHECKING:
    from grader.wire.channel import Channel

START_SECONDS = 120.0
# Bytes of a message's large buffers, and of all that a worker's messages may hold in the judge. The
# labs send a sixth of it at most. Pages are taken only when touched.
ARENA = 256 << 20
# Of what the kernel counts by user, and by the user of a namespace for all below it: no message
# queues, and so few signals that all workers of a grading together have enough.
SHARES = {"SIGPENDING": 1024, "MSGQUEUE": 0}
FOLDERS = "folders"  # of the stage: one for each worker
# Imports leave no garbage, and to look for it takes a sixth of their time: main() enables it again.
BOOT = "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv.pop()); from grader."


@dataclass(frozen=True, slots=True)
class Setting:
    """What every worker of a grading gets."""

    stage: Path  # holds judge/, given/ and submission/ as the worker sees them
    checkpoints: dict[str, Path]  # bound under given/labs/checkpoints
    given: tuple[str, ...]
    device: str
    level: str  # "bwrap" or "none"
    memory: int  # bytes
    processes: int
    rlimits: dict[str, int]
    output: int  # bytes kept
    threads: int = 1
    triton: bool = False  # the worker imports it before it is ready
    preload: tuple[str, ...] = ()  # modules that it imports too
    ranks: int = 1  # of the largest group; above 1 the worker may have to fork
    cage: str = field(default_factory=limits.detect)
    compiles: bool = False  # the worker compiles kernels for GPUs, and interprets none
    divided: bool = False  # each worker has a host user of its own

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a setting that crossed to another process of ours."""
        checkpoints = {name: Path(path) for name, path in data["checkpoints"].items()}
        changed = {"stage": Path(data["stage"]), "checkpoints": checkpoints}
        names = {"given": tuple(data["given"]), "preload": tuple(data["preload"])}
        fields: dict[str, Any] = {**data, **changed, **names}
        return cls(**fields)

    def seen(self, part: str) -> str:
        """Return the path of a folder of the stage as the worker sees it."""
        return f"/{part}" if self.level == "bwrap" else str(self.stage / part)


class Process(Protocol):
    """What a worker runs in, with what it prints on ``stdout``."""

    @property
    def pid(self) -> int: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; raises ``subprocess.TimeoutExpired``."""
        ...

    def kill(self) -> None:
        """End it now."""
        ...


# Of a setting, the worker's folder, and three descriptors: its socket, its inbox, its outbox.
Launch = Callable[[Setting, Path, list[int]], Process]


def interpreter(setting: Setting, module: str, handed: list[int]) -> list[str]:
    """Return the line that runs a module of ours for workers.

    Its arguments: descriptors, what to prepare, and last, taken off, where our code is.
    """
    args = [*map(str, handed), json.dumps(worker_config(setting)), setting.seen("judge")]
    return [sys.executable, "-I", "-B", "-u", "-c", f"{BOOT}{module} import main; main()", *args]


def start_alone(setting: Setting, folder: Path, handed: list[int]) -> Process:
    """Start an interpreter for one worker, as the setting's level asks for."""
    python = interpreter(setting, "worker.boot", handed)
    if setting.level == "none":
        return subprocess.Popen(
            [*limits.outside(), *python],
            env=worker_environment(setting.device, str(folder)),
            pass_fds=handed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
    return start_confined(setting, python, folder, handed)


def start_confined(
    setting: Setting,
    python: list[str],
    folder: Path,
    handed: list[int],
    *,
    forks: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a command in a sandbox, with a folder as ``/folder`` beside what every worker sees.

    What ``forks`` workers may make namespaces, says nothing, and must never meet a submission.
    """
    binds = [(setting.stage / part, f"/{part}") for part in ("judge", "given", "submission")]
    for name, path in setting.checkpoints.items():
        binds.append((path, f"/given/labs/checkpoints/{name}"))
    binds.append((folder, "/folder"))
    divided = setting.divided
    command, passed = confine(python, binds, setting.device, divided=divided, forks=forks)
    try:
        return subprocess.Popen(
            [*limits.outside(), *command],
            env=launcher_environment(),
            pass_fds=[*handed, *passed],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if forks else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
        )
    finally:
        for fd in passed:
            os.close(fd)


def worker_config(setting: Setting) -> dict[str, Any]:
    """Return what a worker prepares before it is ready."""
    return {
        "device": setting.device,
        "threads": setting.threads,
        "given_path": setting.seen("given"),
        "given": setting.given,
        "rlimits": SHARES | setting.rlimits,
        "triton": setting.triton,
        "preload": [*setting.preload],
        "compiles": setting.compiles,
        "ranks": setting.ranks,
    }


class WorkerProcess:
    """A running worker, from the judge's side; ``channel`` talks to it once it is ready."""

    channel: "Channel"

    def __init__(self, setting: Setting, launch: Launch | None = None) -> None:
        """``launch`` starts the process; None: an interpreter of its own, as the level says."""
        self._setting = setting
        folders = setting.stage / FOLDERS
        folders.mkdir(exist_ok=True)
        folders.chmod(0o755)
        self.folder = Path(tempfile.mkdtemp(dir=folders))
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
        from grader.wire.channel import Channel, Late, WireError

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
            self._process.pid, setting.memory, setting.processes, kind=setting.cage
        )
        self._printed.forget()
        PACE.watch(self._process.pid)

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
