"""The folder that a grading happens in: what workers may see, and nothing else of ours."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from grader import ROOT
from grader.environment import temporary_folder
from grader.errors import CannotGrade
from grader.labs.lab import Lab
from grader.sandbox.confinement import limits
from grader.sandbox.launch import BOOT
from grader.sandbox.orphans import end_orphans

PACKAGES = ("wire", "worker")  # of ours, all that a worker imports
PREFIX = "inferlab-"


@contextmanager
def staged(lab: Lab, checkpoints: dict[str, Path], level: str) -> Generator[Path, None, None]:
    """Make a stage for a lab, and remove it afterwards; ``submission/`` is left to be filled."""
    sweep()
    stage = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=temporary_folder()))
    try:
        try:
            _fill(stage, lab, checkpoints, level)
        except OSError as error:
            told = f"the folder of a grading cannot be filled: {error.strerror}: {error.filename}"
            raise CannotGrade(told, "free some disk, or set TMPDIR") from None
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _fill(stage: Path, lab: Lab, checkpoints: dict[str, Path], level: str) -> None:
    """Copy what workers see, but for the submission, which is judged first."""
    judge, labs = stage / "judge" / "grader", stage / "given" / "labs"
    judge.mkdir(parents=True)
    for name in PACKAGES:
        for file in (ROOT / "grader" / name).rglob("*.py"):
            there = judge / file.relative_to(ROOT / "grader")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, there)
    (labs / "checkpoints").mkdir(parents=True)
    (stage / "built").mkdir()
    for file in lab.given_files:
        if not file.is_file():
            hint = "it comes with a later publication (git pull), or was removed"
            raise CannotGrade(f"{lab.name} needs labs/{file.name}, which is not here", hint)
        shutil.copy(file, labs / file.name)
    for name, folder in checkpoints.items():
        place = labs / "checkpoints" / name
        if level == "none":
            place.symlink_to(folder.resolve())
        else:
            place.mkdir()  # the sandbox binds the checkpoint over it
    _open_to_all(stage)


def _open_to_all(stage: Path) -> None:
    """Let every user read a stage, whatever our umask and the rights of what was copied."""
    for folder, _, files in os.walk(stage):  # which enters no links
        os.chmod(folder, 0o755)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o644)


def baseline_stage(lab: Lab, stage: Path) -> Path:
    """Return a stage inside ``stage`` whose submission is the lab's own baseline."""
    inner = stage / "baseline"
    for part in ("judge", "given"):
        shutil.copytree(stage / part, inner / part, symlinks=True)
    (inner / "submission").mkdir()
    (inner / "built").mkdir()
    shutil.copy(lab.baseline, inner / "submission" / lab.code_name)
    _open_to_all(inner)
    return inner


def answer_stage(lab: Lab, stage: Path, answer: Path) -> Path:
    """Return a stage inside ``stage`` whose submission is an answer of ours.

    The submission sees none of it: of its own stage it has the parts, never the whole.
    """
    inner = stage / "answer"
    (inner / "submission").mkdir(parents=True)
    (inner / "built").mkdir()
    shutil.copy(answer, inner / "submission" / lab.code_name)
    _open_to_all(inner)
    for part in ("judge", "given"):
        (inner / part).symlink_to(stage / part)
    return inner


def sweep() -> None:
    """Remove what judges that were killed have left: launchers, control groups and stages."""
    end_orphans(BOOT)
    limits.sweep()
    for stage in temporary_folder().glob(f"{PREFIX}*-*"):
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(stage.name.split("-")[1]), 0)
            except ProcessLookupError:
                shutil.rmtree(stage, ignore_errors=True)
