"""Where a student goes from here: what a report alone does not know."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.labs.lab import Lab, lab_names


@dataclass(frozen=True, slots=True)
class Guide:
    """Names and paths for the next step, as the student would type them."""

    title: str
    stub: str
    pseudocode: str
    handout: str
    functions: Mapping[str, Sequence[str]]  # task -> names to write, in the order of the stub
    next_lab: int | None = None
    source: str = ""  # as it was given; "" is the lab's own folder


def guide_to(lab: Lab, source: Path | None = None) -> Guide:
    """The guide for a submission taken from ``source`` (None: the lab's own folder)."""
    later = [int(name[:2]) for name in lab_names(lab.root) if int(name[:2]) > lab.number]
    code = _code(lab, source)
    return Guide(
        title=lab.title,
        stub=typed(code),
        pseudocode=typed(code.with_name(lab.pseudocode.name)),
        handout=typed(lab.handout),
        functions={task.id: task.functions for task in lab.tasks},
        next_lab=min(later, default=None),
        source="" if source is None else typed(source),
    )


def typed(path: Path) -> str:
    """A path relative to the working directory if it lies below it, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return os.fspath(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def _code(lab: Lab, source: Path | None) -> Path:
    if source is None:
        return lab.stub
    if source.is_file():
        return source
    for folder in (source / lab.name, source / "labs" / lab.name, source):
        if (folder / lab.code_name).is_file():
            return folder / lab.code_name
    return lab.stub
