"""Which code of a file no grading runs: what stands under ``if TYPE_CHECKING:`` and its like.

Runs inside the limited process of ``syntax.py``: standard library only. A condition hides what is
below it only if nothing in the file can make it true: each name in it has to be the one that
everybody means. Where that is not sure the code is read.
"""

import ast
from collections.abc import Iterator

from grader.reading.scopes import text

FLAG, NAME = "TYPE_CHECKING", "__name__"
# With these a file can give any name a value, under a name that it computes.
_ANY_NAME = {"exec", "eval", "globals", "vars", "modules", "__setattr__"}
# What hands out what is written beside names.
_READS_ANNOTATIONS = {
    *("__annotations__", "__annotate__", "get_annotations", "get_type_hints"),
    *("signature", "getfullargspec", "fields"),
}
_ONLY_LOOKS = {"getattr", "hasattr"}


class Unrun:
    """What can be said of a whole file, before it is walked."""

    def __init__(self, tree: ast.Module) -> None:
        self._bound: dict[str, set[str]] = {}  # by name: what is imported as it, "" for all else
        self._touched: set[str] = set()  # of FLAG and NAME: set by an attribute, keyword or string
        self._used: set[str] = set()
        looked_for = _only_looked_for(tree)
        for node in ast.walk(tree):
            self._note(node)
            word = text(node) if isinstance(node, ast.expr) and node not in looked_for else None
            self._touched |= {name for name in (FLAG, NAME) if name in (word or "")}
        later = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self.annotations_are_read = bool(_READS_ANNOTATIONS & self._used)
        self.annotations_run = self.annotations_are_read or not later

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Name():
                if isinstance(node.ctx, ast.Load):
                    self._used.add(node.id)
                else:
                    self._bind(node.id)
            case ast.Attribute():
                self._used.add(node.attr)
                if not isinstance(node.ctx, ast.Load):
                    self._touched.add(node.attr)
            case ast.Import():
                for alias in node.names:
                    self._used.add(alias.name)
                    self._bind(alias.asname or alias.name.partition(".")[0], alias.name)
            case ast.ImportFrom():
                for alias in node.names:
                    self._used.add(alias.name)
                    self._bind(alias.asname or alias.name, f"{node.module}.{alias.name}")
            case ast.keyword(arg=str(word)):
                self._touched.add(word)
            case ast.arg():
                self._bind(node.arg)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._bind(node.name)
            case ast.Global() | ast.Nonlocal():
                for word in node.names:
                    self._bind(word)
            case (
                ast.ExceptHandler(name=str(word))
                | ast.MatchAs(name=str(word))
                | ast.MatchStar(name=str(word))
                | ast.MatchMapping(rest=str(word))
            ):
                self._bind(word)
            case _:
                pass

    def _bind(self, name: str, imported: str = "") -> None:
        self._bound.setdefault(name, set()).add(imported)

    def never(self, test: ast.expr) -> bool:
        """Tell whether a condition is false for sure while a submission is graded."""
        match test:
            case ast.Name(id=word) if word == FLAG:
                return self._is_typings() and self._only(FLAG, f"typing.{FLAG}")
            case ast.Attribute(value=ast.Name(id=base), attr=word) if word == FLAG:
                return self._is_typings() and self._only(base, "typing")
            case ast.Compare(
                left=ast.Name(id=word),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ) if word == NAME:
                return NAME not in self._touched and NAME not in self._bound
            case _:
                return False

    def _is_typings(self) -> bool:
        return FLAG not in self._touched and not _ANY_NAME & self._used

    def _only(self, name: str, imported: str) -> bool:
        return self._bound.get(name) == {imported}


def _only_looked_for(tree: ast.Module) -> set[ast.AST]:
    """Return the strings that give no name a value: docstrings, and those of ``getattr``."""

    def found() -> Iterator[ast.AST]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):
                yield node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from node.args if node.func.id in _ONLY_LOOKS else ()

    return set(found())
