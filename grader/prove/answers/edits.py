"""A wrong answer as an edit of a right one: the file holds the mistake, ``build`` gives the whole.

``From: variants/plain.py`` in its docstring names the right answer, without it the model answer.
``LINES`` maps names of definitions (``""``: the whole file) to diffs without numbers: ``- `` goes,
``+ `` comes, two blanks or an empty line stay, ``...`` stands between places. Definitions replace
those of their name, classes member by member; new ones go to the end, imports to the imports;
``del name`` removes. A file with neither ``LINES`` nor ``From:`` is a whole answer.

In a lab with sources for compilers ``LINES`` maps their names too (``operators.cpp``), to diffs of
the whole source: that of the right answer's own name beside it, else the model answer's.

All places are found in the text of the right answer before any is changed, so that their order
does not matter; what could be meant in two ways is an error, which names the edit's line.
"""

import ast
import functools
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.errors import LabError
from grader.prove.answers.diffs import Change, apply, fail, places
from grader.reading.syntax import Function

_FROM = re.compile(r"^From:\s*(.*?)\s*$", re.MULTILINE)
_SOURCE = re.compile(r"\w+\.(?:c|cc|cpp|cu|cuh|h|hpp)")  # for a compiler
_RIGHT = re.compile(r"(?:variants/)?\w+\.py")  # no way to a wrong answer, or to another lab


def build(file: Path, solutions: Path | None = None) -> str:
    """Return the whole answer that an edit stands for.

    ``solutions`` is the folder of the model answer; of a file of ``solutions/NN_topic/wrong`` it
    is known.
    """
    solutions = solutions or file.parent.parent

    def read(name: str) -> str:
        return (solutions / name).read_text(encoding="utf-8")

    with _named(file):
        return built(file.read_text(encoding="utf-8"), f"{solutions.name[3:]}.py", read)


def build_sources(file: Path, names: Sequence[str], solutions: Path) -> dict[str, str]:
    """Return the sources of the answer that a file stands for, by ``names``.

    An answer that is whole, and wrong, has the model answer's.
    """
    with _named(file):
        text = file.read_text(encoding="utf-8")
        tree = _parsed(text)
        base = base_name(tree, f"{solutions.name[3:]}.py")
        right = solutions / base if base else file
        diffs = {name: (diff, at) for name, diff, at in _source_diffs(tree)}
        if unknown := [name for name in diffs if name not in names]:
            fail(diffs[unknown[0]][1], f"there is no source {unknown[0]}")
        found: dict[str, str] = {}
        for name in names:
            whole = source_of(right, name, solutions).read_text(encoding="utf-8")
            found[name] = _changed(name, whole, *diffs[name]) if name in diffs else whole
        return found


def source_of(answer: Path, name: str, solutions: Path) -> Path:
    """Return where a source of an answer lies: beside it, else it is the model answer's."""
    own = answer.with_suffix(Path(name).suffix)
    return own if own.is_file() else solutions / name


def _changed(name: str, whole: str, diff: str, at: int) -> str:
    lines = whole.removesuffix("\n").split("\n")
    changes = [place.change(lines, 0, len(lines), name) for place in places(diff, at)]
    return apply(lines, changes, is_python=False)


def _source_diffs(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yield the diffs of sources in ``LINES``, and where their strings begin."""
    for node in tree.body:
        match node:
            case ast.Assign(value=ast.Dict() as table) if _is_lines(node):
                for key, value in zip(table.keys, table.values, strict=True):
                    match key, value:
                        case ast.Constant(value=str(name)), ast.Constant(value=str(text)):
                            if _SOURCE.fullmatch(name):
                                yield name, text, value.lineno
                        case _:
                            pass
            case _:
                pass


@contextmanager
def _named(file: Path) -> Generator[None, None, None]:
    """Name the file in what goes wrong."""
    try:
        yield
    except LabError as error:
        raise LabError(f"{file.name}, {error.message}") from None
    except (OSError, UnicodeError) as error:
        raise LabError(f"{file.name} cannot be read: {error}") from None


def built(text: str, model: str, read: Callable[[str], str]) -> str:
    """Apply an edit; ``read`` gives the text of an answer by its path beside the ``model``'s."""
    tree = _parsed(text)
    name = base_name(tree, model)
    if not name:
        return text
    try:
        if not _RIGHT.fullmatch(name):
            raise FileNotFoundError
        base = read(name)
    except (OSError, KeyError):
        fail(_from_line(text), f"there is no right answer {name}")
    try:
        edit = _Edit(text.split("\n"), _base(base))
    except (SyntaxError, ValueError):
        fail(_from_line(text), f"the right answer {name} is no Python")
    return apply(edit.base.lines, list(edit.changes(tree)))


def base_name(tree: ast.Module, model: str) -> str:
    """Return which answer a file edits; empty for a whole answer."""
    found = _FROM.search(ast.get_docstring(tree) or "")
    if found is not None:
        return found[1]
    return model if any(_is_lines(node) for node in tree.body) else ""


class _Base:
    """The text of a right answer, and where its definitions stand."""

    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n")
        self.tree = ast.parse(text)
        self.found: dict[str, list[ast.stmt]] = {}
        self._collect(self.tree.body, "")

    def _collect(self, body: list[ast.stmt], owner: str) -> None:
        for node in body:
            name = _defines(node)
            if name:
                self.found.setdefault(owner + name, []).append(node)
            if isinstance(node, ast.ClassDef):
                self._collect(node.body, f"{owner}{name}.")

    def definition(self, name: str, at: int) -> ast.stmt:
        """Return the one definition of a name; none or two are an error of the edit's line."""
        found = self.found.get(name, [])
        if len(found) != 1:
            times = f"defines {name} {len(found)} times" if found else f"defines no {name}"
            fail(at, f"the right answer {times}")
        return found[0]

    @property
    def below_imports(self) -> int:
        """The line below the imports, or below the docstring where there are none."""
        above = [n for n in self.tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        above = above or self.tree.body[: ast.get_docstring(self.tree) is not None]
        return above[-1].end_lineno or 0 if above else 0


@functools.lru_cache(maxsize=16)  # one for all the edits of it
def _base(text: str) -> _Base:
    return _Base(text)


class _Edit:
    """What an edit asks for, statement by statement, as changes of its base."""

    def __init__(self, lines: list[str], base: _Base) -> None:
        self.lines = lines
        self.base = base

    def changes(self, tree: ast.Module) -> Iterator[Change]:
        """Yield all changes; the edit's docstring takes the place of the base's."""
        has_docstring = ast.get_docstring(tree) is not None
        if has_docstring:
            yield self._docstring(tree.body[0])
        for node in tree.body[has_docstring:]:
            match node:
                case ast.Assign(value=ast.Dict() as table) if _is_lines(node):
                    yield from self._diffs(table)
                case ast.Import() | ast.ImportFrom():
                    yield from self._import(node)
                case ast.Delete():
                    yield from (self._removal(target) for target in node.targets)
                case _:
                    end = len(self.base.lines)
                    yield from self._definition(node, "", end)

    def _docstring(self, node: ast.stmt) -> Change:
        lines = [line for line in self._text(node) if not _FROM.fullmatch(line)]
        old = self.base.tree
        start, end = _span(old.body[0]) if ast.get_docstring(old) is not None else (0, 0)
        return Change(start, end, lines, node.lineno)

    def _import(self, node: ast.stmt) -> Iterator[Change]:
        if ast.dump(node) not in map(ast.dump, self.base.tree.body):
            place = self.base.below_imports
            yield Change(place, place, self._text(node), node.lineno)

    def _removal(self, target: ast.expr) -> Change:
        name = ast.unparse(target)
        start, end = _span(self.base.definition(name, target.lineno))
        while start and not self.base.lines[start - 1]:
            start -= 1
        return Change(start, end, (), target.lineno)

    def _definition(self, node: ast.stmt, owner: str, end: int) -> Iterator[Change]:
        """Put a definition in the place of the base's, or where its owner has its ``end``."""
        name = _defines(node)
        if not name:
            fail(node.lineno, "stands alone: neither a definition, an import, LINES nor del")
        if owner + name not in self.base.found:
            apart = isinstance(node, Function | ast.ClassDef)
            blank = [""] * (apart * (2 - bool(owner)))
            yield Change(end, end, [*blank, *self._text(node)], node.lineno)
            return
        old = self.base.definition(owner + name, node.lineno)
        if not isinstance(node, ast.ClassDef) or not isinstance(old, ast.ClassDef):
            yield Change(*_span(old), self._text(node), node.lineno)
            return
        if _head(node) != _head(old):
            start, stop = _span(node)[0], _span(node.body[0])[0]
            yield Change(*_above(old), self.lines[start:stop], node.lineno)
        for member in node.body:
            yield from self._definition(member, f"{owner}{name}.", _span(old)[1])

    def _diffs(self, table: ast.Dict) -> Iterator[Change]:
        for key, value in zip(table.keys, table.values, strict=True):
            match key, value:
                case ast.Constant(value=str(name)), ast.Constant(value=str(text)):
                    if not _SOURCE.fullmatch(name):
                        yield from self._diff(name, text, key.lineno, value.lineno)
                case _:
                    fail(value.lineno, "LINES maps names to diffs, both written out")

    def _diff(self, name: str, text: str, at: int, first: int) -> Iterator[Change]:
        start, end = 0, len(self.base.lines)
        if name:
            start, end = _span(self.base.definition(name, at))
        for place in places(text, first):
            yield place.change(self.base.lines, start, end, name or "the answer")

    def _text(self, node: ast.stmt) -> list[str]:
        start, end = _span(node)
        return self.lines[start:end]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        fail(error.lineno or 1, f"is no Python: {error.msg}")
    except ValueError as error:
        fail(1, f"is no Python: {error}")


def _from_line(text: str) -> int:
    found = _FROM.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _is_lines(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id="LINES")], value=ast.Dict()):
            return True
        case _:
            return False


def _defines(node: ast.stmt) -> str:
    """Return the name that a statement defines: a function, a class or a plain variable."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _span(node: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement, decorators included, as a slice."""
    above = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    first = min([node.lineno, *(item.lineno for item in above)])
    return first - 1, node.end_lineno or node.lineno


def _above(node: ast.ClassDef) -> tuple[int, int]:
    """Return the lines of a class above its first member."""
    return _span(node)[0], _span(node.body[0])[0]


def _head(node: ast.ClassDef) -> list[str]:
    return [ast.dump(item) for item in (*node.decorator_list, *node.bases, *node.keywords)]
