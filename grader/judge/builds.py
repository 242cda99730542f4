"""What compilers make of a submission, before any of its tests: files that workers load.

A task that needs a file has a gate for it. A build that fails is the student's; where this machine
has no compiler, or not the device that a build is for, the tasks that need it are not graded, and
the others are. A file that was made of the same sources by the same command, compiler and torch is
not made again: it lies under ``.inferlab/`` of the course repository, as it came.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import UsageError
from grader.files import write_file
from grader.labs.build import Build, build_of
from grader.labs.lab import Lab
from grader.labs.results import RULES, Expected, TestResult, Verdict
from grader.labs.standing import FOLDER
from grader.labs.task import Task
from grader.limited import Resource
from grader.reading.sources import violations
from grader.sandbox.building import Built, Compiler, build_file
from grader.sandbox.setting import Setting

PLACE = "built"  # of a stage; workers see what is there
MOST_KEPT = 256  # files
OVER = {
    Resource.TIME: Verdict.TIMEOUT,
    Resource.CPU: Verdict.TIMEOUT,
    Resource.MEMORY: Verdict.MEMORY,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Gates of the tasks that need a file, and why tasks cannot be graded here."""

    results: tuple[TestResult, ...] = ()
    ungraded: Mapping[str, str] = field(default_factory=dict[str, str])


def build_tests(lab: Lab, chosen: Collection[str] = ()) -> tuple[Expected, ...]:
    """List the manifest's lines: a gate without weight for each task that loads something."""
    return tuple(
        Expected(build_of(task.id), task.id, RULES, weight=0.0, gate=True)
        for task in _needing(lab, chosen)
    )


def _needing(lab: Lab, chosen: Collection[str]) -> tuple[Task, ...]:
    """Return the chosen tasks that load something; none chosen are all."""
    return tuple(task for task in lab.tasks if task.builds and (not chosen or task.id in chosen))


def build_all(
    lab: Lab,
    files: Mapping[str, bytes],
    setting: Setting,
    closed: Collection[str] = (),
    chosen: Collection[str] = (),
) -> Outcome:
    """Build what the ``chosen`` tasks need that no rule has ``closed``; none chosen are all.

    ``files`` are those of a submission, by name.
    """
    done: dict[str, tuple[Verdict, str, float]] = {}
    results: list[TestResult] = []
    ungraded: dict[str, str] = {}
    builds = {build.name: build for build in lab.builds}
    for task in _needing(lab, chosen):
        if task.id in closed:
            told = "not tried: a rule closes the task"
            results.append(TestResult(build_of(task.id), task.id, RULES, Verdict.SKIPPED, told))
            continue
        for name in task.builds:
            if name not in done:
                done[name] = _build(lab, builds[name], files, setting)
        verdict, message, seconds = next(
            (done[name] for name in task.builds if done[name][0] is not Verdict.PASSED),
            done[task.builds[0]],
        )
        results.append(TestResult(build_of(task.id), task.id, RULES, verdict, message, seconds))
        if verdict is Verdict.NOT_GRADED:
            ungraded[task.id] = message
    return Outcome(tuple(results), ungraded)


def build_answer(lab: Lab, setting: Setting) -> Outcome:
    """Build all that the tasks need of the lab's model answer."""
    files = {name: (lab.solutions / name).read_bytes() for name in lab.sources}
    return build_all(lab, files, setting)


def _build(
    lab: Lab, build: Build, files: Mapping[str, bytes], setting: Setting
) -> tuple[Verdict, str, float]:
    """Put the file of a build on the stage; say how that ended, and how long it took."""
    started = time.monotonic()
    if setting.device != build.device and build.device != "cpu":
        told = f"{', '.join(build.sources)} is compiled where there is a GPU"
        return Verdict.NOT_GRADED, told, 0.0
    sources = {name: files[name] for name in build.sources if name in files}
    if missing := [name for name in build.sources if name not in sources]:
        return Verdict.FAILED, f"there is no {' and no '.join(missing)}", 0.0
    if broken := violations(build, sources):
        return Verdict.FAILED, "\n".join(broken), 0.0
    compiler = Compiler.find(build)
    if compiler is None:
        told = f"this machine has no {build.program}: {build.install}"
        return Verdict.NOT_GRADED, told, 0.0
    kept = lab.root / FOLDER / PLACE / f"{_key(build, sources, compiler)}.so"
    content = _recalled(kept)
    if not content:
        folder = setting.stage / f"build-{build.name}"
        built = build_file(build, compiler, sources, folder, setting.level, divided=setting.divided)
        if not built.content:
            return _verdict(built), built.problem, round(time.monotonic() - started, 3)
        content = built.content
        _keep(kept, content)
    place = setting.stage / PLACE / build.file_name
    place.write_bytes(content)
    place.chmod(0o644)
    return Verdict.PASSED, "", round(time.monotonic() - started, 3)


def _verdict(built: Built) -> Verdict:
    return OVER.get(built.over, Verdict.FAILED) if built.over else Verdict.FAILED


def _key(build: Build, sources: Mapping[str, bytes], compiler: Compiler) -> str:
    told = [
        {name: hashlib.sha256(content).hexdigest() for name, content in sources.items()},
        [*build.command, build.name],
        compiler.known_by(),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _recalled(kept: Path) -> bytes:
    """Return what was made before, and note that it was of use; nothing where it was not."""
    with contextlib.suppress(OSError):
        content = kept.read_bytes()
        os.utime(kept)
        return content
    return b""


def _keep(kept: Path, content: bytes) -> None:
    """Keep a file, and no more than some hundred: the oldest go. A disk that refuses keeps none."""
    with contextlib.suppress(OSError, UsageError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_file(kept, content)
        files = sorted(kept.parent.glob("*.so"), key=lambda file: file.stat().st_mtime)
        for file in files[:-MOST_KEPT]:
            file.unlink(missing_ok=True)
