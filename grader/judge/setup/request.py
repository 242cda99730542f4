"""What the judge is asked for: one grading."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from grader.labs.documents.submission import Submission
from grader.labs.lab import Lab


@dataclass(frozen=True, slots=True)
class Request:
    """Which files to grade, where, and by which tests.

    ``source`` None is the lab's own folder, and without a ``seed`` one is drawn. With ``tasks``
    only the tests of these run, others are not graded; with ``tests``, suites and ids as in
    "hidden test_a", only these of them. ``until_lost`` leaves out the rest of a task that has lost
    a point or is sure to: to know which tasks are lost, not how many points.
    ``compiles`` lets the kernels that the tests launch be compiled afterwards, and ``meters`` lets
    launches be metered: what comes of it is heard alone (``listener``). So is what public
    tests ask, ``repeats`` by their ids or functions, which run alone: what a script needs to ask it
    again goes to the folder ``repeats_into``.
    """

    lab: Lab
    source: Path | Submission | None = None
    device: str = "auto"  # or "cpu", "cuda"
    seed: int | None = None
    sandbox: str = "auto"  # or "required", "none"
    suite: str = "all"  # or "public", "speed"
    tasks: Collection[str] = ()  # none: all
    tests: Collection[str] = ()  # the same
    until_lost: bool = False
    compiles: bool = False
    meters: bool = False
    repeats: Collection[str] = ()  # none are told
    repeats_into: str = ""
    questions: float = 0.0  # points of the lab's questions; 0: these are read, and not judged
    students: Collection[str] = ()  # who handed it in, as far as that is known
