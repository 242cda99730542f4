"""What the outcome of a grading can depend on, as one number: its key.

Rather too much counts than too little: whole folders by their content, every installed package,
the machine. Left out is what no grading imports, and what is another lab's. A grading that is timed
has no key, nor has one whose submission cannot be read.
"""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from grader import ROOT
from grader.environment import To, crossing
from grader.errors import InferlabError
from grader.judge.grade import choose_device, find_checkpoints
from grader.judge.setup.request import Request
from grader.labs.documents.submission import Submission, collect
from grader.labs.lab import Lab
from grader.sandbox.confinement import limits
from grader.sandbox.level import are_divided, choose_level

# Of the judge, what no grading imports, and the suites, of which a lab has its own.
LEFT_OUT = (
    "__main__.py",
    "cli",
    "course",
    "notebook",
    "report",
    "service",
    "site",
    "suites",
    "trace",
)
_MADE = "__pycache__"
_UNLIKE = ("cpu MHz", "bogomips", "processor", "core id", "apicid", "initial apicid", "physical id")
_TOOLS = ("bwrap", "newuidmap", "newgidmap", "cc", "gcc", "c++", "g++", "clang", "as", "ld")
_BY_WHAT_IT_COMES_TO = ("lab", "source", "device", "sandbox")  # of a request


@dataclass(frozen=True, slots=True)
class Key:
    """The number, in hexadecimal, and what its report must name: a submission and a seed."""

    number: str
    submission: str
    seed: int


class Keys:
    """Gives keys, all of them of the moment at which it was made.

    So it is made before anything imports what counts; and what was graded has its key only if none
    of it has been ``touched`` by then.
    """

    def __init__(self, labs: Sequence[Lab], home: Path = ROOT) -> None:
        """``home`` is where the judge lies, and what suites import."""
        self._home = home
        self._stamps = {lab.name: _stamps(counted(lab, home)) for lab in labs}
        contents: dict[Path, str] = {}
        self._files: dict[str, str] = {}
        for lab in labs:
            found = counted(lab, home)
            contents |= {file: _content(file) for file in found if file not in contents}
            self._files[lab.name] = _number({str(file): contents[file] for file in found})
        self._machine = _number(machine())

    def of(self, request: Request, way: str) -> Key | None:
        """Return the key of a grading that is made in a way; None if it can have none."""
        lab = request.lab
        try:
            device = choose_device(request.device, lab.limits.ranks)
            level, _ = choose_level(request.sandbox)
            handed_in = _handed_in(request)
        except InferlabError:
            return None
        if device != "cpu" or request.seed is None:
            return None
        parts = {
            "lab": lab.name,
            "files": self._files[lab.name],
            "machine": self._machine,
            "way": [way, device, level, are_divided(level, device)],
            "request": dict(_options(request)),
            "submission": handed_in.sha256,
            "read": [handed_in.single_file, handed_in.is_notebook, repr(handed_in.notes)],
        }
        return Key(_number(parts), handed_in.sha256, request.seed)

    def touched(self, lab: Lab) -> bool:
        """Tell whether a file that counts has come, gone or been written since."""
        return _stamps(counted(lab, self._home)) != self._stamps[lab.name]


def counted(lab: Lab, home: Path = ROOT) -> list[Path]:
    """List the files that a grading of a lab can depend on, beside the submission."""
    places = [
        *(path for path in (home / "grader").iterdir() if path.name not in (*LEFT_OUT, _MADE)),
        home / "reference",
        lab.folder,
        *(lab.root / "labs").glob("*.py"),
        lab.root / "labs" / "checkpoints",
        *(lab.hidden_suite.with_name("__init__.py"), lab.hidden_suite, lab.baseline),
        *(lab.speed_suite, lab.solutions / lab.code_name),
        *(lab.solutions / name for name in lab.sources),
    ]
    with contextlib.suppress(InferlabError):  # every grading will say what is wrong
        places += find_checkpoints(lab).values()  # one may lie anywhere
    return sorted({file for place in places for file in _files(place)})


def machine() -> dict[str, Any]:
    """Return what of this machine and its software a grading can depend on."""
    system = platform.uname()
    return {
        "python": [sys.version, sys.executable, sys.prefix],
        "packages": sorted(packages()),
        "system": [system.system, system.release, system.version, *platform.libc_ver()],
        "processor": [system.machine, *sorted(_processor()), len(os.sched_getaffinity(0))],
        "tools": {name: _tool(name) for name in _TOOLS},
        "user": [os.getuid(), os.geteuid(), *sorted(os.getgroups())],
        "control groups": limits.detect(),
        "environment": {to: crossing(to) for to in To if to is not To.GIT},
    }


def packages() -> Iterator[str]:
    """Name each installed package, with its version and the hash of the list of its files."""
    for found in metadata.distributions():
        listed = hashlib.sha256((found.read_text("RECORD") or "").encode()).hexdigest()
        yield f"{found.name} {found.version} {listed}"


def _processor() -> set[str]:
    """Return what the kernel says of the cores, without what tells one from another."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return {line for line in lines if not line.startswith(_UNLIKE)}
    return {platform.processor()}


def _tool(name: str) -> list[str]:
    """Say which program of a name is found; one that was only unpacked anew is the same."""
    path = Path(os.path.realpath(shutil.which(name) or ""))
    return [str(path), _content(path)] if path.is_file() else []


def _files(place: Path) -> Iterator[Path]:
    """Yield a file, or those below a folder but for hidden ones and what Python makes."""
    if place.is_file():
        yield place
    for folder, inner, names in os.walk(place, followlinks=True):
        inner[:] = [name for name in inner if name != _MADE and not name.startswith(".")]
        yield from (Path(folder, name) for name in names if not name.startswith("."))


def _stamps(files: Sequence[Path]) -> dict[Path, tuple[int, ...] | None]:
    """Return what tells that a file was written, without reading it; None where it cannot be."""
    found: dict[Path, tuple[int, ...] | None] = dict.fromkeys(files)
    for file in files:
        with contextlib.suppress(OSError):
            status = file.stat()
            found[file] = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return found


def _content(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _handed_in(request: Request) -> Submission:
    """Read a submission as the judge does; raises UsageError as it does."""
    if isinstance(request.source, Submission):
        return request.source
    with tempfile.TemporaryDirectory(prefix="inferlab-key-") as folder:
        return collect(request.lab, request.source, Path(folder))


def _options(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield what else is asked for, whatever a request comes to have."""
    for each in fields(request):
        value = getattr(request, each.name)
        if each.name not in _BY_WHAT_IT_COMES_TO:
            many = isinstance(value, Collection) and not isinstance(value, str)
            yield each.name, sorted(value) if many else value


def _number(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
