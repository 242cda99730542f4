"""The folder that a grading happens in: what workers may see, and nothing else of ours."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from grader import ROOT
from grader.errors import CannotGrade
from grader.labs.lab import Lab
from grader.sandbox import limits
from grader.sandbox.launch import BOOT
from grader.sandbox.orphans import end_orphans

PACKAGES = ("wire", "worker")  # of ours, all that a worker imports
PREFIX = "inferlab-"


@contextmanager
def staged(lab: Lab, checkpoints: dict[str, Path], level: str) -> Generator[Path, None, None]:
    """Make a stage for a lab, and remove it afterwards; ``submission/`` is left to be filled."""
    sweep()
    stage = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        stage.chmod(0o755)
        judge, labs = stage / "judge" / "grader", stage / "given" / "labs"
        judge.mkdir(parents=True)
        for name in PACKAGES:
            ours = (ROOT / "grader" / name).glob("*.py")
            (judge / name).mkdir()
            for file in ours:
                shutil.copy(file, judge / name / file.name)
        (labs / "checkpoints").mkdir(parents=True)
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
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def baseline_stage(lab: Lab, stage: Path) -> Path:
    """Return a stage inside ``stage`` whose submission is the lab's own baseline."""
    inner = stage / "baseline"
    for part in ("judge", "given"):
        shutil.copytree(stage / part, inner / part, symlinks=True)
    (inner / "submission").mkdir()
    shutil.copy(lab.baseline, inner / "submission" / lab.code_name)
    for folder in (inner, inner / "submission"):
        folder.chmod(0o755)
    return inner


def sweep() -> None:
    """Remove what judges that were killed have left: launchers, control groups and stages."""
    end_orphans(BOOT)
    limits.sweep()
    for stage in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(stage.name.split("-")[1]), 0)
            except ProcessLookupError:
                shutil.rmtree(stage, ignore_errors=True)
