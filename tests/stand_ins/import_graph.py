"""Who imports whom, read from the files: imports inside functions and for types count too."""

import ast
import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.prove.answers.edits import build

ROOT = Path(__file__).resolve().parents[2]

Graph = Mapping[str, set[str]]


def python_files(*folders: str) -> list[Path]:
    """Our Python files in some folders, without those of hostile and wrong submissions."""
    found = itertools.chain.from_iterable((ROOT / name).rglob("*.py") for name in folders)
    return sorted(file for file in found if not {"wrong", "field"} & {*file.parts})


def module_of(file: Path) -> str:
    """The dotted name of a module; a package has its folder's."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(file: Path) -> frozenset[str]:
    """Every name that a file imports, as a dotted one: a module, or what is taken from it."""
    found: set[str] = set()
    text = build(file) if file.parent.name == "wrong" else file.read_bytes()
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """Each statement at any depth, and no expression: among those is no import."""
    kinds = ast.stmt | ast.excepthandler | ast.match_case
    inside: list[ast.AST] = [module]
    while inside:
        node = inside.pop()
        yield node
        inside += [child for child in ast.iter_child_nodes(node) if isinstance(child, kinds)]


def graph(*folders: str) -> Graph:
    """Each module of some folders with those of them that it imports."""
    files = {module_of(file): file for file in python_files(*folders)}
    return {name: {*_known(imports(file), files)} - {name} for name, file in files.items()}


def _known(names: frozenset[str], files: Mapping[str, Path]) -> Iterator[str]:
    for name in names:
        while name and name not in files:
            name = name.rpartition(".")[0]
        if name:
            yield name


def cycles(below: Graph) -> list[tuple[str, ...]]:
    """The cycles that a walk over the graph closes; none where there are none."""
    clear: set[str] = set()
    found: list[tuple[str, ...]] = []

    def walk(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            found.append((*path[path.index(name) :], name))
        elif name not in clear:
            for other in sorted(below.get(name, ())):
                walk(other, (*path, name))
            clear.add(name)

    for name in below:
        walk(name, ())
    return found


def packages(below: Graph) -> dict[str, str]:
    """The package of each module; what lies flat in grader/ stands for itself."""
    above = {name: name.rpartition(".")[0] for name in below}
    inner = {*above.values()} - {"", "grader"}
    return {
        name: name if name in inner or package not in inner else package
        for name, package in above.items()
    }


def merged(below: Graph, rooms: Mapping[str, str]) -> Graph:
    """The same graph over what holds the modules."""
    result: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for name, others in below.items():
        result[rooms[name]] |= {rooms[other] for other in others} - {rooms[name]}
    return result
