"""The part of ``lab check`` that tells which tasks of a wrong answer a right one has proven.

Where the tests of a task reach the same code in both, and the right answer has passed them under
the same seed, the wrong one passes them too: to grade that again would prove nothing more.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from grader.labs.lab import Lab
from grader.labs.results import RULES
from grader.prove.expected import RIGHT, RIGHT_ROLES, Graded

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Proven:
    """What right answers have passed in this check; empty until it is told."""

    def __init__(self, gradings: Iterable[Graded] = ()) -> None:
        self._asked: dict[tuple[str, str], set[str]] = {}  # by lab and task
        right = [item for item in gradings if item.role in RIGHT_ROLES]
        for graded in right:
            for task, names in graded.asked.items():
                self._asked.setdefault((graded.lab.name, task), set()).update(names)
        self._known = {
            (graded.lab.name, graded.seed, task, code)
            for graded in right
            for task, code in self._code(graded.lab, graded.source, _passed(graded))
        }

    def tasks(self, lab: Lab, source: Path, seed: int) -> frozenset[str]:
        """Return the tasks whose code in this file is that of an answer that passed."""
        asked = [task.id for task in lab.tasks if (lab.name, task.id) in self._asked]
        return frozenset(
            task
            for task, code in self._code(lab, source, asked)
            if (lab.name, seed, task, code) in self._known
        )

    def _code(
        self, lab: Lab, source: Path, tasks: Iterable[str]
    ) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the code of each task, all from one reading of the file."""
        file = source / lab.code_name if source.is_dir() else source
        module = Module(file.read_bytes())
        builds = {build.name: build.sources for build in lab.builds}
        for task in tasks:
            names = (name for built in lab.task(task).builds for name in builds[built])
            places = (file.with_suffix(Path(name).suffix) for name in names)
            sources = {place.read_text(encoding="utf-8") for place in places if place.is_file()}
            code = (
                frozenset() if lab.task(task).alone else module.reached(self._asked[lab.name, task])
            )
            yield task, code | sources


def _passed(graded: Graded) -> Iterator[str]:
    """Yield the tasks that were asked for anything and passed whole."""
    tests = graded.report.tests if graded.report is not None else ()
    for task in graded.asked:
        own = [test.verdict for test in tests if test.task == task and test.suite != RULES]
        if own and all(verdict in RIGHT for verdict in own):
            yield task


class Module:
    """The statements of a file, read once: what always counts, and what does if its name does."""

    def __init__(self, source: bytes) -> None:
        self._always: list[ast.stmt] = []
        self._bound: dict[str, list[ast.stmt]] = {}
        for node in without_docstrings(ast.parse(source)).body:
            binds = tuple(_bound(node))
            for name in binds:
                self._bound.setdefault(name, []).append(node)
            if not binds:
                self._always.append(node)

    def reached(self, names: Collection[str]) -> frozenset[str]:
        """Return the statements that the public ``names`` may reach, as syntax trees.

        Comments, docstrings and the order of statements are left out. A definition, an import or a
        plain assignment counts if its name is a word of one that counts: a name, an attribute or a
        string. Whatever else runs when the module is imported always counts.
        """
        return frozenset(ast.dump(node) for node in [*self._always, *self._below(names)])

    def lines(self, names: Collection[str]) -> frozenset[int]:
        """Return the lines on which those statements begin."""
        return frozenset(node.lineno for node in [*self._always, *self._below(names)])

    def _below(self, names: Collection[str]) -> Iterator[ast.stmt]:
        """Yield what the names, and all that always counts, can reach."""
        todo = [*names, *(word for node in self._always for word in _words(node))]
        reached: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in reached:
                reached.add(name)
                for node in self._bound.get(name, ()):
                    yield node
                    todo += _words(node)


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Take the docstrings out of a tree, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node) is not None:
            node.body[:1] = [] if node.body[1:] else [ast.Pass()]
    return tree


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds; none if it may do more than that."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import() | ast.ImportFrom() if all(alias.name != "*" for alias in node.names):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            if not any(isinstance(inner, ast.Call) for inner in ast.walk(node)):
                yield name
        case _:
            pass


def _words(node: ast.AST) -> Iterator[str]:
    """Yield all that may name something of the module."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)):
                yield word
            case _:
                pass
