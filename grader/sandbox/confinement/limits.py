"""Limits that cover a whole worker, its children included: memory, processes, processor.

A cgroup (v2 or v1) where one is writable, else a thread that watches. A worker weighs what one
process does, however many it starts, and one of ranks as much as these: who wants more slows itself
alone. The kernel's own per-process limits (open files, file size) are set by the worker itself
before it loads anything.

The session stands in a group of its own too. Groups of workers are made beside that, never inside,
and what it starts leaves it before it runs: what they take is not charged to the judge.
"""

import contextlib
import functools
import os
import re
import secrets
import time
from pathlib import Path
from typing import Protocol

from grader.sandbox.confinement.watcher import Watcher, descendants

ROOT = Path("/sys/fs/cgroup")
SHARE = {"cgroup2": ("cpu.weight", 100), "cgroup1": ("cpu.shares", 1024)}  # of one process
PREFIX = "inferlab-"  # of a group's name; the process id of its judge follows
NAME = re.compile(rf"{PREFIX}\d+-[0-9a-f]{{8}}")
# The first argument names the file that moves whoever writes its number; the rest is a command.
LEAVE = '{ echo $$ >"$0"; } 2>/dev/null; exec "$@"'


class Cage(Protocol):
    """What keeps a set of processes within its limits."""

    def why_killed(self) -> str:
        """Return "memory", "processes" or an empty string."""
        ...

    def used(self) -> int:
        """Return how many bytes count for the limit of memory now."""
        ...

    def allow(self, more: int) -> None:
        """Raise the limit of memory by so many bytes, or lower it by fewer than none."""
        ...

    def close(self) -> None:
        """Forget the processes; they must be dead."""
        ...


def cage(pid: int, memory: int, processes: int, *, kind: str, shares: int = 1) -> Cage:
    """Put a process and all below it under limits; ``memory`` in bytes, ``kind`` from detect.

    ``shares`` of the processor are what so many busy processes get.
    """
    if kind == "watch":
        return Watcher(pid, memory, processes, shares)
    return Cgroup(kind, pid, memory, processes, shares)


def judge_group(kind: str, memory: int) -> "Cgroup | None":
    """Return a group for a session to join; None where none can be made."""
    with contextlib.suppress(OSError):
        return None if kind == "watch" else Cgroup(kind, None, memory, None)
    return None


def join(group: str) -> None:
    """Move this process to a group; one that cannot be joined limits nothing."""
    with contextlib.suppress(OSError):
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()))


def inside(group: "Cgroup") -> list[str]:
    """Return the start of a command line that runs what follows in a group."""
    return ["/bin/sh", "-c", LEAVE, str(group.folder / "cgroup.procs")]


def outside() -> list[str]:
    """Return the start of a command line that runs what follows outside of the judge's group."""
    for line in _own_groups():
        _, controllers, path = line.split(":", 2)
        if around := _around(path):
            place = ROOT / ("memory" if controllers else "") / around.strip("/")
            return ["/bin/sh", "-c", LEAVE, str(place / "cgroup.procs")]
    return []


def divides(kind: str) -> bool:
    """Tell whether control groups give a worker its share of the processor, or niceness does."""
    if kind == "watch":
        return False
    with contextlib.suppress(OSError, StopIteration):
        if kind == "cgroup1":
            return os.access(controller("cpu"), os.W_OK)
        return "cpu" in (_unified() / "cgroup.subtree_control").read_text().split()
    return False


def detect() -> str:
    """Return the best kind that works here: "cgroup2", "cgroup1" or "watch"."""
    for kind in ("cgroup2", "cgroup1"):
        with contextlib.suppress(OSError):
            Cgroup(kind, None, 1 << 30, 100).close()
            return kind
    return "watch"


class Cgroup:
    """One control group for each worker; creating it raises OSError where we may not."""

    def __init__(
        self, kind: str, pid: int | None, memory: int, processes: int | None, shares: int = 1
    ) -> None:
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._kind = kind
        self._memory = memory
        if kind == "cgroup2":
            parent = _unified()
            self._folders = [parent / name]
            files = {"memory.max": memory, "memory.swap.max": 0}
        else:
            controllers = ("memory",) if processes is None else ("memory", "pids")
            self._folders = [controller(kept) / name for kept in controllers]
            files = {"memory.limit_in_bytes": memory}
        if processes is not None:
            files["pids.max"] = processes
        try:
            for folder in self._folders:
                folder.mkdir()
            for file, value in files.items():
                self._write(file, value)
            if processes is not None:
                self._divide(kind, name, shares)
            for member in descendants(pid) if pid else ():
                for folder in self._folders:
                    (folder / "cgroup.procs").write_text(str(member))
        except OSError:
            self.close()
            raise

    def _divide(self, kind: str, name: str, shares: int) -> None:
        """Let it weigh so many processes; where that cannot be said, it has no share of its own."""
        file, share = SHARE[kind]
        with contextlib.suppress(OSError):
            folder = self._folders[0] if kind == "cgroup2" else controller("cpu") / name
            if kind == "cgroup1":
                folder.mkdir()
                self._folders.append(folder)
            if (folder / file).exists():
                (folder / file).write_text(str(share * shares))

    def _write(self, file: str, value: int) -> None:
        for folder in self._folders:
            if (folder / file).exists():
                (folder / file).write_text(str(value))
                return
        if "swap" not in file:
            raise FileNotFoundError(file)

    @property
    def folder(self) -> Path:
        """Where its memory is limited."""
        return self._folders[0]

    def why_killed(self) -> str:
        """Return "memory" if the kernel killed a member for memory."""
        file = "memory.events" if self._kind == "cgroup2" else "memory.oom_control"
        with contextlib.suppress(OSError, ValueError):
            lines = (self._folders[0] / file).read_text().splitlines()
            counts = {key: int(value) for key, value in (line.split() for line in lines)}
            return "memory" if counts.get("oom_kill", 0) else ""
        return ""

    def used(self) -> int:
        """Return the memory of all members, as the kernel counts it: 0 where it does not tell."""
        file = "memory.current" if self._kind == "cgroup2" else "memory.usage_in_bytes"
        with contextlib.suppress(OSError, ValueError):
            return int((self.folder / file).read_text())
        return 0

    def allow(self, more: int) -> None:
        """Raise the limit of memory by so many bytes."""
        self._memory += more
        file = "memory.max" if self._kind == "cgroup2" else "memory.limit_in_bytes"
        with contextlib.suppress(OSError):  # it stays as it is
            self._write(file, self._memory)

    def close(self) -> None:
        """Remove the group; it waits a moment for the last process to go."""
        for folder in self._folders:
            for _ in range(50):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
                else:
                    break


def sweep() -> None:
    """Remove the groups of judges that were killed."""
    kinds = ("memory", "pids", "cpu")
    for find in (_unified, *(functools.partial(controller, kind) for kind in kinds)):
        with contextlib.suppress(OSError, StopIteration):
            for folder in find().glob(f"{PREFIX}*-*"):
                if not Path("/proc", folder.name.split("-")[1]).exists():
                    # One that still holds processes cannot be removed, and is not.
                    with contextlib.suppress(OSError):
                        folder.rmdir()


def _unified() -> Path:
    """Return the v2 group under which children may be limited, delegating controllers if we can."""
    own = next(line for line in _own_groups() if line.startswith("0::")).removeprefix("0::")
    own = _around(own) or own
    for parent in (ROOT / own.strip("/"), ROOT):
        control = parent / "cgroup.subtree_control"
        with contextlib.suppress(OSError):
            if not {"memory", "pids"} <= set(control.read_text().split()):
                control.write_text("+memory +pids")
            with contextlib.suppress(OSError):  # not everywhere is it handed on
                if "cpu" not in control.read_text().split():
                    control.write_text("+cpu")
            return parent
    raise FileNotFoundError("no delegated control group")


def controller(name: str) -> Path:
    """Return our own v1 group of a controller; if it is the judge's, the one around it.

    "" is the group of v2. Raises FileNotFoundError where there is none.
    """
    for line in _own_groups():
        _, controllers, path = line.split(":", 2)
        if name in controllers.split(","):
            own = ROOT / name / (_around(path) or path).strip("/")
            return own if own.is_dir() else ROOT / name
    raise FileNotFoundError(name)


def _around(path: str) -> str:
    """Return the group around one that is a judge's, else an empty string."""
    around, _, name = path.rpartition("/")
    return (around or "/") if NAME.fullmatch(name) else ""


def _own_groups() -> list[str]:
    return Path("/proc/self/cgroup").read_text().splitlines()
