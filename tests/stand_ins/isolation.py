"""Whether this machine can isolate submissions, and what is left of them."""

import contextlib
import hashlib
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.sandbox.confinement import limits, users
from grader.sandbox.level import probe, undivided

MARK = "left-by-a-submission"  # what an attack writes has this in its name
HOST = ("/tmp", "/dev/shm", "/var/tmp", "/", "/run", str(Path.home()), str(Path.cwd()))
LOCK = re.compile(r"inferlab\.(gpu|lease|ranks|users).*\.lock")  # gradings share it: it stays
PATIENCE_SECONDS = 10.0


def is_required() -> bool:
    """Whether a machine that cannot isolate is at fault."""
    return bool(os.environ.get("CI") or os.environ.get("INFERLAB_REQUIRE_BWRAP"))


def require_sandbox() -> None:
    """Skip where bubblewrap does not work; fail where isolation is required."""
    problem = probe()
    if problem and is_required():
        pytest.fail(problem)
    if problem:
        pytest.skip(problem)


def processes_that_see(folder: Path | str) -> list[str]:
    """List processes in whose mount namespace a folder of the host is bound."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder) in (process / "mountinfo").read_text():
                found.append(f"{process.name}: {(process / 'cmdline').read_bytes()[:200]!r}")
    return found


@dataclass(frozen=True, slots=True)
class Before:
    """What was there before the first grading; ``harm`` says what has changed since."""

    files: dict[Path, str]  # of ours, that nobody may change: their hashes
    mounts: str
    shared: frozenset[str]
    groups: frozenset[Path]

    def harm(self) -> list[str]:
        """List what gradings have left behind or changed; it waits a moment for the dying."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.1)
            limits.sweep()
        changed = [str(path) for path, old in self.files.items() if fingerprint(path) != old]
        return left + [f"changed: {path}" for path in changed]

    def _left(self) -> list[str]:
        stages = tempfile.gettempdir()
        found = [f"left: {path}" for path in Path(stages).iterdir() if not LOCK.match(path.name)]
        found += [f"a process: {process}" for process in processes_that_see(stages)]
        found += [f"shared memory: {name}" for name in shared_memory() - self.shared]
        found += [f"a control group: {path}" for path in groups_of_the_dead() - self.groups]
        if mounts() != self.mounts:
            found.append("a mount")
        for place in HOST:
            with contextlib.suppress(OSError):
                found += [f"written: {p}" for p in Path(place).iterdir() if MARK in p.name]
        return found


def look_around(*ours: Path) -> Before:
    """Note what is there now; ``ours`` are folders and files that must stay as they are."""
    files = [f for path in ours for f in ([path] if path.is_file() else path.rglob("*"))]
    # Compiled files are anybody's: whoever imports a module writes them.
    files = [file for file in files if file.is_file() and "__pycache__" not in file.parts]
    hashes = {file: fingerprint(file) for file in files}
    return Before(hashes, mounts(), shared_memory(), groups_of_the_dead())


def fingerprint(file: Path) -> str:
    """Return a hash of a file, "" if it is gone."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def mounts() -> str:
    """Return what is mounted in our own namespace."""
    return Path("/proc/self/mountinfo").read_text()


def shared_memory() -> frozenset[str]:
    """Return the shared memory of users that submissions run as: POSIX's and System V's."""
    found: set[str] = set()
    for entry in Path("/dev/shm").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found |= {entry.name} if is_of_workers(entry.stat().st_uid) else set()
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    head, rows = lines[0].split(), [line.split() for line in lines[1:]]
    mine = [row for row in rows if is_of_workers(int(row[head.index("uid")]))]
    return frozenset(found | {f"key {row[0]} number {row[1]}" for row in mine})


def is_of_workers(user: int) -> bool:
    """Tell whether submissions may run as a user of the host."""
    if not undivided():
        return user in range(users.ours().first, users.ours().first + users.ours().count)
    return user == (users.NOBODY if os.geteuid() == 0 else os.geteuid())


def groups_of_the_dead() -> frozenset[Path]:
    """Return control groups of sessions that are no more."""
    groups = {path for path in limits.ROOT.glob("**/inferlab-*-*") if path.is_dir()}
    dead = {path for path in groups if not Path("/proc", path.name.split("-")[1]).exists()}
    return frozenset(dead)
