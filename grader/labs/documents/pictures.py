"""The pictures of a lab: functions of ``labs/plots/TOPIC.py`` that draw what its tasks are about.

Only what shows them loads them: they need matplotlib, and grading must not.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.errors import LabError
from grader.extras import needs
from grader.labs.lab import Lab

EXTRA = "notebook"  # of pyproject.toml: it brings matplotlib


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn picture, and the text that says the same to a person who cannot see it."""

    figure: Any  # a matplotlib Figure
    text: str


@dataclass(frozen=True, slots=True)
class PictureFunction:
    """A picture that can be drawn: ``picture(length=64).figure``."""

    name: str
    task: str  # the id of the task that it explains; "": the whole lab
    says: str  # what one should see
    parameters: Mapping[str, Any]  # keyword parameters with their defaults
    choices: Mapping[str, tuple[Any, ...]]  # some values of each parameter
    draw: Callable[..., tuple[Any, str]]

    def __call__(self, **parameters: Any) -> Picture:
        """Draw it; what is not given has its default."""
        figure, text = self.draw(**parameters)
        return Picture(figure, text)


def pictures_file(lab: Lab) -> Path:
    """The file that draws a lab's pictures; not every lab has one."""
    return lab.root / "labs" / "plots" / lab.code_name


def pictures(lab: Lab) -> tuple[PictureFunction, ...]:
    """Load the pictures of a lab in the order of their file; none if there is no such file.

    Raises ``UsageError`` without matplotlib, ``LabError`` for a picture that names no task.
    """
    file = pictures_file(lab)
    found = load(file, lab.root) if file.is_file() else ()
    tasks = {"", *(task.id for task in lab.tasks)}
    for picture in found:
        if picture.task not in tasks:
            shown = file.relative_to(lab.root)
            raise LabError(f"{shown}: {picture.name} explains {picture.task!r}, which is no task")
    return found


def load(file: Path, root: Path) -> tuple[PictureFunction, ...]:
    """Load the functions of a file that carry the mark of ``labs.plots.explains``."""
    with needs(EXTRA):
        module = _module(file, root)
    marked: dict[str, Any] = {
        name: value for name, value in vars(module).items() if hasattr(value, "explains")
    }
    return tuple(
        PictureFunction(
            name=name,
            task=value.explains,
            says=inspect.getdoc(value) or "",
            parameters={key: item.default for key, item in _parameters(value)},
            choices=dict(value.choices),
            draw=value,
        )
        for name, value in marked.items()
    )


def _parameters(function: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    return list(inspect.signature(function).parameters.items())


def _module(file: Path, root: Path) -> ModuleType:
    """Import a file by its path; it finds the ``labs`` beside it."""
    spec = importlib.util.spec_from_file_location(f"plots_of_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(root))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(root))
    return module
