"""Start, limit and kill one confined worker. This docstring is the threat model.

Covered, at level ``bwrap``:
- reading anything of the host but the Python installation, the given code, the checkpoint and the
  submission;
- writing anything but a sized ``/tmp`` and ``/dev/shm``, which vanish with the worker;
- the network, other processes, their memory, shared memory and signals; new namespaces; the system
  calls that ``seccomp`` names; capabilities; the environment and command line of the judge;
- memory and number of processes (``limits``), open files, size of files, output, time;
- surviving: the namespace dies with the judge, and is killed after each task.

Not covered:
- faults of the kernel, of bubblewrap or of a GPU driver; what timing on a shared machine reveals;
- what a worker does to itself after it has loaded the submission: its answers prove nothing;
- level ``none``: no isolation at all, for a student who grades their own code.

As root the view is built in two steps: a first bubblewrap, still root, binds the folders (some may
lie under folders that only root may enter), drops to an unprivileged uid, and a second one makes
the namespaces. An unprivileged judge needs only the second.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from grader import limits, seccomp
from grader.errors import SandboxError, StudentCrashed, StudentMemory, SubmissionFault

if TYPE_CHECKING:
    from grader.wire import Channel

NOBODY = 65534
START_SECONDS = 120.0
ARENA = 1 << 30  # bytes of a message's large buffers; pages are taken only when touched
INSTALL_HINT = "install bubblewrap with the system's package manager: apt-get install bubblewrap"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
BOOT = "import sys; sys.path.insert(0, sys.argv.pop()); from grader.worker import main; main()"


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
    cage: str = field(default_factory=limits.detect)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a setting that crossed to another process of ours."""
        checkpoints = {name: Path(path) for name, path in data["checkpoints"].items()}
        changed = {"stage": Path(data["stage"]), "checkpoints": checkpoints}
        fields: dict[str, Any] = {**data, **changed, "given": tuple(data["given"])}
        return cls(**fields)

    def seen(self, part: str) -> str:
        """Return the path of a folder of the stage as the worker sees it."""
        return f"/{part}" if self.level == "bwrap" else str(self.stage / part)


def choose_level(wanted: str) -> tuple[str, str]:
    """Return the level for "auto", "required" or "none", and why it is not ``bwrap``."""
    if wanted == "none":
        return "none", "--sandbox none was asked for"
    problem = probe()
    if not problem:
        return "bwrap", ""
    if wanted == "required":
        raise SandboxError(f"cannot isolate submissions: {problem}", INSTALL_HINT)
    return "none", problem


@cache
def probe() -> str:
    """Return why bubblewrap does not work here, or an empty string."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    command, passed = _confine(["/usr/bin/true"], [], "cpu")
    try:
        done = subprocess.run(
            command,
            env=_environment(),
            pass_fds=passed,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({error})"
    finally:
        for fd in passed:
            os.close(fd)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
    return f"bubblewrap does not work here ({lines[-1]})"


class WorkerProcess:
    """A running worker, from the judge's side; ``channel`` talks to it once it is ready."""

    channel: "Channel"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.folder = Path(tempfile.mkdtemp(prefix="folder-", dir=setting.stage))
        self.folder.chmod(0o755)
        self.seen_folder = "/folder" if setting.level == "bwrap" else str(self.folder)
        self._socket, theirs = socket.socketpair()
        # To the worker and from it; closed once they are mapped.
        self._arenas: tuple[int, ...] = (make_arena(), make_arena())
        with theirs:
            self._process = self._start([theirs.fileno(), *self._arenas])
        self._cage: limits.Cage | None = None
        self._output = bytearray()
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._drain, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()
        self._killed = False
        self._reason = ""

    def _start(self, handed: list[int]) -> subprocess.Popen[bytes]:
        setting = self._setting
        # The worker's arguments: socket, its inbox, its outbox, what to prepare, where our code is.
        config = {
            "device": setting.device,
            "threads": setting.threads,
            "given_path": setting.seen("given"),
            "given": setting.given,
            "rlimits": setting.rlimits,
        }
        args = [*map(str, handed), json.dumps(config), setting.seen("judge")]
        python = [sys.executable, "-I", "-B", "-u", "-c", BOOT, *args]
        if setting.level == "none":
            return subprocess.Popen(
                python,
                env=worker_environment(setting.device, str(self.folder)),
                pass_fds=handed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        binds = [(setting.stage / part, f"/{part}") for part in ("judge", "given", "submission")]
        for name, path in setting.checkpoints.items():
            binds.append((path, f"/given/labs/checkpoints/{name}"))
        binds.append((self.folder, "/folder"))
        command, passed = _confine(python, binds, setting.device)
        try:
            return subprocess.Popen(
                command,
                env=_environment(),
                pass_fds=[*handed, *passed],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd="/",
            )
        finally:
            for fd in passed:
                os.close(fd)

    def is_ready(self) -> bool:
        """Tell, without waiting, whether the worker has said that it is ready, or has died."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def wait_ready(self) -> None:
        """Wait until the worker has imported all that is given, then put it under its limits."""
        # Imported here: a worker starts while the judge itself still imports torch.
        from grader.wire import Channel, Late, WireError

        self.channel = Channel(self._socket, self._arenas[1], self._arenas[0])
        self._close_arenas()
        try:
            self.channel.receive(time.monotonic() + START_SECONDS)
        except (Late, WireError) as error:
            self.kill()
            text = self.output()[-400:].strip()
            raise SandboxError(f"a worker did not start: {text or error}") from None
        setting = self._setting
        self._cage = limits.cage(
            self._process.pid, setting.memory, setting.processes, kind=setting.cage
        )
        self._output.clear()

    def _close_arenas(self) -> None:
        for fd in self._arenas:
            os.close(fd)
        self._arenas = ()

    def _drain(self, pipe: IO[bytes]) -> None:
        # Everything is read, so that a chatty submission never blocks; only the start is kept.
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), 1 << 16):
                room = self._setting.output - len(self._output)
                self._output += chunk[: max(room, 0)]

    def output(self) -> str:
        """Return what was printed so far, at most the limit."""
        pipe = self._process.stdout
        for _ in range(20):
            # What was printed before a reply may still be on its way to the thread that reads it.
            if self._killed or pipe is None or not select.select([pipe], [], [], 0)[0]:
                break
            time.sleep(0.001)
        return bytes(self._output).decode("utf-8", errors="replace")

    def forget_output(self) -> None:
        """Start afresh for the next test."""
        self._output.clear()

    def fault(self) -> SubmissionFault:
        """Say why the worker is gone; it is killed first if it is not."""
        code = self._exit_code()
        self.kill()
        reason = self._reason
        if reason == "memory":
            limit = self._setting.memory >> 20
            return StudentMemory(f"the code took more than the {limit} MiB that it may use")
        if reason == "processes":
            return StudentCrashed(f"the code started more than {self._setting.processes} processes")
        if code is None:
            return StudentCrashed("the code closed its connection to the judge")
        number = code - 128 if code > 128 else -code
        with contextlib.suppress(ValueError):
            return StudentCrashed(f"the process was ended by {signal.Signals(number).name}")
        return StudentCrashed(f"the process ended itself with status {code}")

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
        if self._setting.level == "none":
            for pid in limits.descendants(self._process.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._socket.close()
        self._close_arenas()
        self._reader.join(timeout=5)
        if self._process.stdout and not self._reader.is_alive():
            self._process.stdout.close()
        if self._cage:
            self._reason = self._cage.why_killed()
            self._cage.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def worker_environment(device: str, home: str) -> dict[str, str]:
    """Return the whole environment of a worker."""
    env = {
        "HOME": home,
        "TMPDIR": home,
        "USER": "student",
        "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TRITON_CACHE_DIR": f"{home}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{home}/inductor",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "NCCL_SOCKET_IFNAME": "lo",
    }
    if device == "cpu":
        env |= {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    return env


def _environment() -> dict[str, str]:
    """Return the environment of bubblewrap itself: what its loader needs, nothing of ours."""
    path = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": path} if path else {}


def _confine(
    command: list[str], binds: list[tuple[Path, str]], device: str
) -> tuple[list[str], list[int]]:
    """Return the command line that runs ``command`` confined, and the descriptors that it needs."""
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    passed: list[int] = []
    view = ["--tmpfs", "/", *_view(binds, device)]
    walls = _walls(device, passed)
    if os.geteuid() != 0:
        fd = _memory_file("\0".join((*view, *walls)).encode())
        return [bwrap, "--args", str(fd), "--", *command], [*passed, fd]
    outer = [*view, "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--die-with-parent"]
    # A pid namespace of its own: a root monitor could not signal what has become unprivileged,
    # but when its namespace ends, all in it ends.
    outer += [
        "--unshare-pid",
        "--cap-add",
        "CAP_SETUID",
        "--cap-add",
        "CAP_SETGID",
        *_own_libraries(bwrap),
    ]
    inner = ["--ro-bind", "/", "/", *walls]
    first = _memory_file("\0".join(outer).encode())
    second = _memory_file("\0".join(inner).encode())
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    line = [bwrap, "--args", str(first), "--", *drop, bwrap, "--args", str(second), "--", *command]
    return line, [*passed, first, second]


def _view(binds: list[tuple[Path, str]], device: str) -> list[str]:
    """Return the options that make up the worker's file system."""
    project = Path(__file__).resolve().parent.parent
    folders = [
        *SYSTEM,
        sys.prefix,
        sys.base_prefix,
        str(Path(sys.executable).resolve().parent.parent),
    ]
    if device != "cpu":
        folders += ["/sys", "/usr/local/nvidia", "/usr/local/cuda", "/opt/cuda"]
        folders += [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    args: list[str] = []
    bound: list[str] = []
    for folder in dict.fromkeys(folders):
        path = Path(folder)
        if any(path.is_relative_to(above) for above in bound):
            continue
        if path.is_symlink() and path.resolve().is_relative_to("/usr"):
            args += ["--symlink", os.readlink(folder), folder]
        elif path.exists():
            args += [*_parents(folder), "--ro-bind", folder, folder]
            bound.append(folder)
    for file in SYSTEM_FILES:
        args += ["--ro-bind-try", file, file]
    # The project is covered where it lies inside one of these folders, and so is an installed copy.
    for place in {project, *(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib"))}:
        for name in ("grader", "reference", "solutions", "labs", "tests", ".git"):
            hidden = place / name
            if hidden.exists() and any(hidden.is_relative_to(f) for f in folders):
                args += ["--tmpfs", str(hidden)]
    for source, target in binds:
        args += [*_parents(target), "--ro-bind", str(source), target]
    return [*args, "--dir", "/tmp", "--dir", "/dev", "--dir", "/proc"]


def _parents(path: str) -> list[str]:
    """Return options that make the folders above a mount point, open to every uid."""
    args: list[str] = []
    for parent in reversed(Path(path).parents[:-1]):
        args += ["--perms", "0755", "--dir", str(parent)]
    return args


def _own_libraries(bwrap: str) -> list[str]:
    """Return binds for a bubblewrap that is not installed in the system's folders."""
    folders = [str(Path(bwrap).parent), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    args: list[str] = []
    for folder in dict.fromkeys(folders):
        if folder and not Path(folder).is_relative_to("/usr") and Path(folder).is_dir():
            args += [*_parents(folder), "--ro-bind", folder, folder]
    return args


def _walls(device: str, passed: list[int]) -> list[str]:
    """Return the options for namespaces, private mounts, seccomp and environment."""
    args = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
    args += ["--new-session", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    if device != "cpu":
        for node in sorted(Path("/dev").glob("nvidia*")):
            args += ["--dev-bind", str(node), str(node)]
    for folder, size in (("/dev/shm", 1 << 30), ("/tmp", 1 << 30)):
        args += ["--size", str(size), "--perms", "1777", "--tmpfs", folder]
    args += ["--remount-ro", "/dev", "--remount-ro", "/"]
    args += ["--chdir", "/tmp", "--hostname", "worker", "--clearenv"]
    for name, value in worker_environment(device, "/tmp").items():
        args += ["--setenv", name, value]
    if device != "cpu" and os.environ.get("LD_LIBRARY_PATH"):
        args += ["--setenv", "LD_LIBRARY_PATH", os.environ["LD_LIBRARY_PATH"]]
    code = seccomp.program(cuda=device != "cpu")
    if code is not None:
        passed.append(_memory_file(code))
        args += ["--seccomp", str(passed[-1])]
    return args


def make_arena(size: int = ARENA) -> int:
    """Return the descriptor of a memory file that nobody can grow, shrink or unseal."""
    fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("args")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
