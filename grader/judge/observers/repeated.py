"""Chosen public tests, told so that a script can repeat them: ``make repeat``.

Emits ("tests", [ids of all public tests]) once they are known, and ("repeated", {…}) of each that
was chosen, ahead of its result. What a script cannot hold in a line lies in a file beside it.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.judge.setup.configuration import Run
from grader.proxy.repeat.literals import Literals, Unrepeatable
from grader.proxy.repeat.script import Script, package_and_name
from grader.proxy.repeat.transcript import Transcript
from grader.proxy.student import Student


class RepeatPlugin:
    """Runs the chosen tests alone, keeps what they ask of the submission, and tells it as code."""

    def __init__(self, run: Run, student: Student, emit: Callable[[str, Any], None]) -> None:
        self._run = run
        self._student = student
        self._emit = emit
        self._count = 0
        self._transcript = student.calls_().whole = Transcript()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all other tests."""
        self._emit("tests", [_id(item) for item in items])
        wanted = self._run.repeats
        items[:] = [x for x in items if wanted & {_id(x), _id(x).partition("[")[0]}]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Tell what a test has asked, whatever becomes of it."""
        try:
            return (yield)
        finally:
            self._emit("repeated", {"test": _id(pyfuncitem), **self._told()})

    def _told(self) -> dict[str, Any]:
        self._count += 1
        folder = Path(self._run.repeats_into) / str(self._count)
        folder.mkdir()
        transcript, lab = self._transcript, self._run.lab
        checkpoints = map(self._student.checkpoint, lab.checkpoints)
        paths = {folder.path: _code(folder.host, lab.root) for folder in checkpoints}
        for path, place in transcript.folders.items():
            shutil.copytree(place, folder / place.name, symlinks=True)
            paths[path] = f'FILES / "{place.name}"'
        given = {name: lab.root / "labs" / f"{name}.py" for name in lab.given}
        literals = Literals(given, paths, self._run.device)
        try:
            script = Script(transcript, lab.topic, literals)
        except Unrepeatable as why:
            return {"why": str(why)}
        if literals.stored:
            torch.save(literals.stored, folder / "inputs.pt")
        return {
            "body": script.body,
            "stored": literals.told,
            "modules": sorted(map(package_and_name, literals.modules)),
            "records": literals.records,
            "probes": [*transcript.probes],
            "folder": str(folder),
            "device": self._run.device,
            "fault": script.fault,
        }


def _id(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[2]


def _code(place: Path, root: Path) -> str:
    inside = place.is_relative_to(root)
    return f'ROOT / "{place.relative_to(root)}"' if inside else f"Path({str(place)!r})"
