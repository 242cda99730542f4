"""Right answers, from the instructors' ``solutions/NN_topic/questions.py``; no student has it.

The file is ours, so it is run; what a student typed is never given to it.
"""

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import LabError
from grader.labs.lab import Lab
from grader.text import visible_line

NAME = "questions.py"
_TABLES = ("RIGHT", "WRONG", "CASES")
Table = Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Key:
    """The right answers of a lab: a function for each question, by its id."""

    functions: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict[str, Callable[..., Any]]
    )
    right: Table = field(default_factory=dict[str, list[Any]])  # other right ones, as typed
    wrong: Table = field(default_factory=dict[str, list[Any]])
    cases: Table = field(default_factory=dict[str, list[Any]])  # arguments of programs

    def why(self, id: str) -> str:
        """Return why an answer is right, as its function says."""
        return inspect.getdoc(self.functions[id]) or "" if id in self.functions else ""


def key_file(lab: Lab) -> Path:
    """Return where the right answers of a lab lie, there or not."""
    return lab.solutions / NAME


def read_key(lab: Lab) -> Key | None:
    """Run the file of a lab's right answers, None without one; a mistake raises ``LabError``."""
    file = key_file(lab)
    return key_of(file, f"solutions/{lab.name}/{NAME}") if file.is_file() else None


def key_of(file: Path, name: str) -> Key:
    """Run a file of right answers that is called ``name``; raises ``LabError``."""
    spec = importlib.util.spec_from_file_location(f"questions_of_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        told = f"{name} cannot be run: {type(error).__name__}: {error}"
        raise LabError(visible_line(told)) from None
    functions = {
        id: value
        for id, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not id.startswith("_")
        and value.__name__ != "<lambda>"
    }
    return Key(functions, *(_table(module, which, name) for which in _TABLES))


def _table(module: object, which: str, name: str) -> Table:
    table: Any = getattr(module, which, {})
    if not isinstance(table, dict) or not all(
        isinstance(id, str) and isinstance(found, list)
        for id, found in table.items()  # pyright: ignore[reportUnknownVariableType]
    ):
        raise LabError(f"{name}: {which} must hold a list for each id")
    return table  # pyright: ignore[reportUnknownVariableType]
