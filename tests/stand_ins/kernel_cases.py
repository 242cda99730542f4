"""The kernels on which the sanitizer is proven: ``tests/kernels/{right,answers,wrong}``.

A case is a function whose name has no underscore in front; it launches kernels and, where they are
right, returns what it got and what it wants. Cases of ``answers`` get a module, and are there once
for each right answer to the lab that has a file of that name.

A line that ends in ``# finds: kind, kind`` is where these are to be found, in each case that names
the kernel; ``# finds reversed:`` with the programs in the other order. Two kinds are the proof's
own: "same value" is a "write-write" that is worded so, and "order", at a case, says that nothing
is found and the results of three orders differ. No kernel is loaded to read this.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).parent.parent / "kernels"
SOLUTIONS = KERNELS.parent.parent / "solutions"
FINDS = re.compile(r"# finds( reversed)?: (.*)")
ORDERS = ("", "reversed", "shuffled")
Place = tuple[str, int]  # a kind, and its line


@dataclass(frozen=True, slots=True)
class Case:
    """A launch, and what is to be found in it."""

    file: Path
    function: str
    expected: frozenset[Place]
    order: str  # of the programs
    answer: Path | None = None  # that the function gets

    @property
    def name(self) -> str:
        """How a table calls it."""
        parts = [self.file.stem, self.function]
        if self.answer is not None:
            parts.insert(1, self.answer.stem if self.answer.parent.name == "variants" else "model")
        return ".".join(parts)


def cases(folder: str) -> Iterator[Case]:
    """Walk through the cases of ``right``, ``answers`` or ``wrong``."""
    for file in sorted((KERNELS / folder).glob("*.py")):
        for case in _cases_in(file):
            if folder != "answers":
                yield case
            for answer in _answers(file.name) if folder == "answers" else ():
                yield Case(file, case.function, case.expected, case.order, answer)


def _answers(name: str) -> list[Path]:
    model = next(SOLUTIONS.glob(f"*/{name}"))
    return [model, *sorted((model.parent / "variants").glob("*.py"))]


def _cases_in(file: Path) -> Iterator[Case]:
    lines = file.read_text().splitlines()
    functions = [
        item for item in ast.parse("\n".join(lines)).body if isinstance(item, ast.FunctionDef)
    ]
    marks = {item.name: _marks(lines, item) for item in functions}
    for item in functions:
        if not item.name.startswith("_"):
            names = {part.id for part in ast.walk(item) if isinstance(part, ast.Name)}
            names.add(item.name)
            found = [mark for name in names & marks.keys() for mark in marks[name]]
            order = "reversed" if any(mark[0] for mark in found) else ""
            yield Case(file, item.name, frozenset(mark[1] for mark in found), order)


def _marks(lines: list[str], item: ast.FunctionDef) -> list[tuple[bool, Place]]:
    """Return the marks of a function, and whether they are for the other order."""
    found: list[tuple[bool, Place]] = []
    for number in range(item.lineno, (item.end_lineno or item.lineno) + 1):
        if match := FINDS.search(lines[number - 1]):
            found += [(bool(match[1]), (kind, number)) for kind in match[2].split(", ")]
    return found
