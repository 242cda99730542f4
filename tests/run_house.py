"""Print how large the house is and how tidy: ``make house``.

The width is that of the widest folder: its modules, besides an ``__init__``. A line is repeated if
it stands in ``BLOCK`` lines that stand elsewhere too, blanks and indentation aside. Cycles are
those of grader/ and bench/.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from stand_ins.import_graph import ROOT, cycles, graph, merged, packages

PARTS = ("grader", "grader/suites", "bench", "reference", "labs", "solutions", "wrong", "tests")
FOLDERS = tuple(name for name in PARTS if "/" not in name and name != "wrong")
BLOCK = 6


@dataclass(frozen=True, slots=True)
class Part:
    """One row of the table."""

    name: str
    files: Sequence[Path]

    @property
    def row(self) -> str:
        """Files, folders, the widest, lines, repeated ones, the longest file and function."""
        lines = {file: len(file.read_bytes().splitlines()) for file in self.files}
        longest = max(lines, key=lines.__getitem__)
        length, function = max(chain.from_iterable(map(functions, self.files)), default=(0, "-"))
        share = 100 * repeated(self.files) / max(1, sum(lines.values()))
        file = f"{lines[longest]} {longest.relative_to(ROOT)}"
        width = Counter(file.parent for file in self.files if file.name != "__init__.py")
        columns = (
            *(f"{len(lines):5}", f"{len(width):7}", f"{max(width.values()):5}"),
            *(f"{sum(lines.values()):6}", f"{share:7.1f} %"),
        )
        return f"{self.name:14} {'  '.join(columns)}  {file}, {length} {function}"


def parts() -> Iterator[Part]:
    """Every Python file of ours, each in one part."""
    taken: dict[str, list[Path]] = {name: [] for name in PARTS}
    for file in sorted(chain.from_iterable((ROOT / name).rglob("*.py") for name in FOLDERS)):
        path = file.relative_to(ROOT)
        inner = "/".join(path.parts[:2])
        wrong = path.parts[0] == "solutions" and "wrong" in path.parts
        name = "wrong" if wrong else inner if inner in PARTS else path.parts[0]
        taken[name].append(file)
    for name, files in taken.items():
        if files:
            yield Part(name, files)


def functions(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of each function of a file, and its name."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.end_lineno - node.lineno + 1, f"{file.stem}.{node.name}"


def repeated(files: Sequence[Path]) -> int:
    """Count the lines that stand in a block which stands elsewhere in the files too."""
    texts = [[line.strip() for line in file.read_text("utf-8").splitlines()] for file in files]
    texts = [[line for line in lines if line] for lines in texts]
    seen = Counter(chain.from_iterable(map(blocks, texts)))
    marked = 0
    for lines in texts:
        twice = [seen[block] > 1 for block in blocks(lines)]
        marked += sum(any(twice[max(0, i - BLOCK + 1) : i + 1]) for i in range(len(lines)))
    return marked


def blocks(lines: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(lines[i : i + BLOCK]) for i in range(len(lines) - BLOCK + 1)]


def main() -> int:
    """Print the table; exit 1 if there is a cycle."""
    heads = f"{'files':>5}  {'folders':>7}  {'width':>5}  {'lines':>6}  {'repeated':>9}"
    print(f"{'':14} {heads}  longest file, longest function")
    for part in parts():
        print(part.row)
    below = graph("grader", "bench")
    found = cycles(below), cycles(merged(below, packages(below)))
    for kind, loops in zip(("modules", "packages"), found, strict=True):
        print(f"cycles of {kind}: {len(loops)}")
        for loop in loops:
            print(f"  {' -> '.join(loop)}")
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
