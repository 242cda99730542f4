"""What this machine and shell must allow before a grading begins.

Limits of the kernel's are inherited by all that we start, and so are a disk that is full and files
that are closed to others. Soft limits are raised to what is needed, as far as the hard ones let
us; where something is still too little it is one error here, and never the verdict of a test.
"""

import importlib.util
import os
import resource
import site
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.environment import assert_driver, temporary_folder
from grader.errors import CannotGrade
from grader.labs.lab import Lab

MIB = 1 << 20
LEAST_FREE = 64 * MIB  # of temporary files: the stage, and at level none what a worker compiles
ARENAS = 512 * MIB  # a session's largest files, which lie in memory
OPEN_FILES = 512  # a session of four ranks has 132
STACK = 8 * MIB  # what each thread gets too: more of it would count as memory of the session
SESSION_DATA = 1024 * MIB
SESSION_ADDRESSES = 8192 * MIB  # a session of four ranks takes 7 GiB, for the most part untouched
SLACK_SECONDS = 120
SLACK_PROCESSES = 64  # the judge's own
THREADS_OF_A_RANK = 8  # of torch.distributed and ours, beside what the submission may start
INFINITE = resource.RLIM_INFINITY


@dataclass(frozen=True, slots=True)
class Need:
    """The least that a limit must be."""

    what: str
    option: str  # of ulimit
    least: int
    unit: int = 1  # of ulimit, in those of the kernel
    exact: bool = False  # more is of no use


def assert_allowed(lab: Lab, device: str, level: str) -> None:
    """Raise soft limits; raises CannotGrade where the machine allows too little."""
    raise_limits(lab, device)
    assert_installed("torch")
    if device != "cpu":
        assert_driver()
    assert_room(lab, device, level)


def processes_of(lab: Lab) -> int:
    """Return how many processes and threads one worker may have."""
    ranks = lab.limits.ranks
    forked = sum(range(ranks + 1)) if ranks > 1 else 0
    return lab.limits.processes + THREADS_OF_A_RANK * forked


def raise_limits(lab: Lab, device: str) -> None:
    """Raise soft limits of this process; raises CannotGrade where a hard one is too small."""
    for name, need in needs(lab, device).items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        if not _is_enough(hard, need.least):
            wanted = "unlimited" if need.least == INFINITE else str(-(-need.least // need.unit))
            told = f"the hard limit on {need.what} is {hard // need.unit}"
            hint = f"ulimit -H{need.option} shows it: log in with a larger one"
            raise CannotGrade(
                f"{told}, and lab {lab.number} needs {wanted}", f"{hint}, or ask your batch system"
            )
        resource.setrlimit(kind, (need.least if need.exact else hard, hard))


def needs(lab: Lab, device: str) -> Mapping[str, Need]:
    """Return the least of each limit, by the kernel's name."""
    limits = lab.limits
    memory = limits.memory_mb * MIB
    # CUDA reserves addresses for the memory of all GPUs and of the host.
    addresses = memory + SESSION_ADDRESSES if device == "cpu" else INFINITE
    data = memory + SESSION_DATA if device == "cpu" else INFINITE
    seconds = int(limits.total_seconds) + SLACK_SECONDS
    return {
        "NOFILE": Need("open files", "n", max(limits.open_files, OPEN_FILES)),
        "NPROC": Need("processes", "u", processes_of(lab) + SLACK_PROCESSES),
        "FSIZE": Need("the size of a file", "f", max(limits.file_mb * MIB, ARENAS), 1024),
        "AS": Need("addresses", "v", addresses, 1024),
        "DATA": Need("data", "d", data, 1024),
        "STACK": Need("the stack", "s", STACK, 1024, exact=True),
        "CPU": Need("seconds of processor time", "t", seconds),
    }


def _is_enough(limit: int, least: int) -> bool:
    return limit == INFINITE or (least != INFINITE and limit >= least)


def assert_installed(package: str) -> None:
    """Raise CannotGrade if sessions and workers, which see no PYTHONPATH, lack a package."""
    found = importlib.util.find_spec(package)
    if found is None:
        raise CannotGrade(f"{package} is not installed for this Python", "make setup")
    place = Path(found.origin or "").parent
    if str(place.parent) in site.getsitepackages():
        return
    for name, folders in _private():
        if str(place.parent) in folders:
            raise CannotGrade(
                f"{package} lies where only {name} leads: {place}",
                "workers have no such setting: install it in a virtual environment (make setup)",
            )


def _private() -> Iterator[tuple[str, list[str]]]:
    """Give what leads a user's Python to packages, and to which folders."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    yield "PYTHONPATH", [os.path.abspath(path) for path in paths if path]
    yield "a user's own site-packages", [site.getusersitepackages()]


def assert_room(lab: Lab, device: str, level: str) -> None:
    """Raise CannotGrade if no grading fits where temporary files lie."""
    folder = temporary_folder()
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < LEAST_FREE:
        told = f"{free >> 20} MiB are free for temporary files in {folder}"
        raise CannotGrade(
            f"{told}, and a grading needs {LEAST_FREE >> 20}", "free some, or set TMPDIR"
        )
    # Without a sandbox a worker's folder lies there; what torch and Triton compile is run from it.
    compiles = device != "cpu" or bool(lab.preload or lab.builds)
    if level == "none" and compiles and found.f_flag & os.ST_NOEXEC:
        raise CannotGrade(
            f"the disk of {folder} runs no programs (noexec), and lab {lab.number} compiles some",
            "set TMPDIR to a folder on another disk",
        )


def assert_readable(folders: Mapping[str, Path]) -> None:
    """Raise CannotGrade where checkpoints are closed to other users: that is what workers are."""
    for name, folder in folders.items():
        for path in (folder, *folder.iterdir()):
            mode = path.stat().st_mode
            wanted = 0o005 if stat.S_ISDIR(mode) else 0o004
            if mode & wanted != wanted:
                told = f"checkpoint {name} is closed to other users, as workers are: {path}"
                raise CannotGrade(told, f"chmod -R o+rX {folder}")
