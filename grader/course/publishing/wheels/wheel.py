"""``lab publish --wheel``: build the student's side, scan what was built, and keep it if clean.

Scanned is the wheel itself, file by file as it would be installed, by the scan that a branch goes
through before a push.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

from grader.course.git import OWN, git
from grader.course.publishing.held import given_away, held_modules
from grader.course.publishing.hidden import Files
from grader.course.publishing.leak import Leak, find_leaks
from grader.course.publishing.press import data_command, tree_commands
from grader.course.publishing.publish import Order, Proven, commit_of, refuse_changes
from grader.course.publishing.repository import files_at
from grader.course.publishing.selection import lab_folders, select
from grader.course.publishing.wheels.contents import INSTALLED, as_published, project
from grader.errors import UsageError
from grader.text import first_line

BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
BUILD_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that was built; with leaks, or without a proof, it was not kept."""

    file: Path
    labs: tuple[str, ...]
    files: tuple[str, ...]  # by the paths that they have in a published tree
    leaks: tuple[Leak, ...]
    held: Mapping[str, str]  # given code that was left out, with the open lab that it answers
    gives_away: Mapping[str, str]  # that it holds, with the lab that it answers
    proven: bool = True


def publish_wheel(
    root: Path, order: Order, folder: Path, *, dry_run: bool = False, proven: Proven | None = None
) -> Wheel:
    """Build the labs of an order, out of the last commit, as a wheel in ``folder``.

    Of the order's remote and branch nothing is used. A dry run builds, scans and keeps nothing.
    """
    source = commit_of(root)
    files = files_at(root, source)
    labs, every = select(order.labs, files), lab_folders(files)
    held = held_modules(labs, every, order.open_labs)
    number = int(git("rev-list", "--count", source, folder=root))
    moment = git("log", "-1", "--format=%ct", source, folder=root)
    made = project(files, labs, order.title, frozenset(held), order.terms, number)
    with tempfile.TemporaryDirectory(prefix="inferlab-wheel-") as name:
        built = _built(made, Path(name), moment)
        inside = _unpacked(built)
        _assert_whole(made, inside)
        inside = as_published(inside)
        refuse_changes(root, {*inside} & {*files})
        leaks = tuple(_leaks(files, inside, Path(name) / "scan"))
        names = tuple(lab.name for lab in labs)
        found = Wheel(
            file=folder / built.name,
            labs=names,
            files=tuple(sorted(inside)),
            leaks=leaks,
            held=held,
            gives_away=given_away(every, names, inside),
            proven=bool(leaks) or dry_run or proven is None or proven(names),
        )
        if found.proven and not leaks and not dry_run:
            _keep(built, found.file)
    return found


def _built(files: Files, place: Path, moment: str) -> Path:
    """Write the project and build it; ``moment`` in seconds is when all of its files are from."""
    if find_spec("setuptools") is None:
        raise UsageError("setuptools is not installed", "pip install -e '.[course]'")
    for path, content in files.items():
        file = place / "project" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    out = place / "out"
    done = subprocess.run(
        [sys.executable, "-I", "-c", BUILD, str(out)],
        cwd=place / "project",
        env={**os.environ, "SOURCE_DATE_EPOCH": moment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    wheels = [*out.glob("*.whl")]
    if done.returncode or len(wheels) != 1:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        hint = "setuptools 77 or newer builds it: pip install -e '.[course]'"
        raise UsageError(f"the wheel was not built: {first_line(lines[-1])}", hint)
    return wheels[0]


def _unpacked(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _assert_whole(made: Files, inside: Files) -> None:
    """What a lab needs is what setuptools might leave out: a kind of name that it was not told."""
    missing = sorted(path for path in made if path.startswith(INSTALLED) and path not in inside)
    if missing:
        hint = (
            "[tool.setuptools.package-data] of the last commit's pyproject.toml names what goes in"
        )
        raise UsageError(f"the wheel was built without {missing[0]}", hint)


def _leaks(files: Files, inside: Files, scan: Path) -> list[Leak]:
    """Scan the content of a wheel as the one commit of a repository."""
    scan.mkdir()
    git("init", "-q", "--bare", ".", folder=scan)
    head = b"commit refs/heads/wheel\ncommitter lab publish <> now\n" + data_command(b"wheel\n")
    stream = head + tree_commands(inside)
    git("fast-import", "--quiet", "--date-format=now", folder=scan, limits=OWN, stdin=stream)
    return find_leaks(files, scan, ["refs/heads/wheel"])


def _keep(built: Path, file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}", "--wheel FOLDER") from None
