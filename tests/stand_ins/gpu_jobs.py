"""What only a GPU can prove, as jobs by name: answers to be graded, and commands to be run."""

import fnmatch
import functools
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stand_ins.attacks import ALONE, corpus

from grader import ROOT
from grader.labs.lab import all_labs
from grader.prove.expected import RIGHT_ROLES
from grader.prove.trials import plan

PYTHON = sys.executable
SECONDS = {"check": 400, "exploits": 300, "hidden": 300, "tests": 400}  # that a job may take


@dataclass(frozen=True, slots=True)
class Job:
    """One job; ``kind`` is the first part of its name, and its row of the page."""

    name: str
    command: tuple[str, ...] = ()  # none: an answer to be graded (``gpu_grader``)
    all_gpus: bool = False  # it needs every GPU at a time

    @property
    def kind(self) -> str:
        """What it is a case of: such as "check, lab 06" or "exploits"."""
        parts = self.name.split()
        return " ".join(parts[:2]) if parts[0] == "check" else parts[0]

    @property
    def answer(self) -> str:
        """The answer that is to be graded: its lab's number, and its label."""
        return self.name.removeprefix("check ")

    @property
    def seconds(self) -> int:
        """How long it may take."""
        return SECONDS[self.name.split()[0]]


def jobs(patterns: Sequence[str] = ()) -> list[Job]:
    """Return all jobs whose names match."""
    return [
        job
        for job in every()
        if not patterns or any(fnmatch.fnmatchcase(job.name, pattern) for pattern in patterns)
    ]


@functools.cache
def every() -> tuple[Job, ...]:
    """Return all jobs, right answers first: they tell most."""
    found = [*_gradings(), *_exploits(), *_hidden(), *_tests()]
    found.sort(key=_turn)
    return tuple(found)


def _turn(job: Job) -> int:
    """Model answers come first: they alone race, and wait for each other's races."""
    if " wrong/" in job.name or " field/" in job.name or " controls/" in job.name:
        return 2
    return int(" solution" not in job.name)


def _gradings() -> Iterator[Job]:
    with tempfile.TemporaryDirectory() as folder:
        for lab in all_labs(ROOT):
            trials = [*plan(lab, 1, 1, Path(folder) / lab.name)]
            trials.sort(key=lambda trial: trial.role not in RIGHT_ROLES)
            for trial in trials:
                all_gpus = lab.limits.ranks > 1
                yield Job(f"check {lab.number:02} {trial.label}", all_gpus=all_gpus)


def _exploits() -> Iterator[Job]:
    for attack in corpus([f"{category}/*" for category in sorted(ALONE)]):
        command = (PYTHON, "tests/run_exploits.py", attack.name)
        yield Job(f"exploits {attack.name}", command)


def _hidden() -> Iterator[Job]:
    # Imported here: it is a command too.
    import run_hidden_on_gpu

    for lab, file, _ in run_hidden_on_gpu.answers():
        name = run_hidden_on_gpu.name_of(lab, file)
        yield Job(f"hidden {name}", (PYTHON, "tests/run_hidden_on_gpu.py", name))


def _tests() -> Iterator[Job]:
    for file in sorted((ROOT / "tests").glob("*/**/test_*.py")):
        if "pytest.mark.gpu" in file.read_text(encoding="utf-8"):
            name = str(file.relative_to(ROOT / "tests"))
            yield Job(f"tests {name}", (PYTHON, "-m", "pytest", "-q", "-m", "gpu", f"tests/{name}"))


def environment(gpus: Sequence[int]) -> dict[str, str]:
    """Return the environment of a job that has these GPUs."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    visible = ",".join(map(str, gpus))
    return {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": visible, "NO_COLOR": "1"}
