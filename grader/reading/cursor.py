"""Where a walk over a syntax tree stands: scope, branches, unit, and what is done with a name.

Runs inside the limited process of ``syntax.py``: standard library only.

A *unit* is what a task can own: a function, a class or an assigned name of the module. Statements
beside them belong to the unit ``MODULE``.
"""

import ast
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.reading.scopes import Binding, Place, Scope, Step

MODULE = "<module>"
UNKNOWN = "<unknown>"  # the unit of a name that no statement binds


@dataclass(slots=True)
class Cursor:
    """The state of one walk; each ``with`` puts back what it changed."""

    module: Scope = field(default_factory=lambda: Scope("module"))
    unit: str = MODULE
    kind: str = "mention"  # or "call", "base", "check": see Use
    assigning: bool = False  # inside the value of a name of the module
    scope: Scope = field(init=False)
    _path: tuple[Step, ...] = ()
    _order: int = 0

    def __post_init__(self) -> None:
        self.scope = self.module

    def place(self) -> Place:
        """Take the next place in the text."""
        self._order += 1
        return Place(self._order, self._path)

    def bind(self, name: str, imported: str = "", value: ast.expr | None = None) -> None:
        """Bind a name here."""
        self.scope.bind(name, Binding(self.place(), imported, value))

    @property
    def at_import(self) -> bool:
        """True if what stands here runs when the module is imported."""
        return self.around.kind == "module"

    @property
    def around(self) -> Scope:
        """The innermost scope that is no comprehension."""
        scope = self.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    @contextmanager
    def doing(self, kind: str) -> Generator[None, None, None]:
        """Visit expressions with which something is done."""
        before, self.kind = self.kind, kind
        yield
        self.kind = before

    @contextmanager
    def branch(self, node: ast.AST, number: int, *, exclusive: bool) -> Generator[None, None, None]:
        """Visit one branch of a compound statement; ``exclusive`` if the others do not run."""
        before, self._path = self._path, (*self._path, (id(node), number, exclusive))
        yield
        self._path = before

    @contextmanager
    def inside(self, scope: Scope) -> Generator[None, None, None]:
        """Visit what belongs to a scope of its own."""
        before = self.scope, self._path
        self.scope, self._path = scope, self._path if scope.kind == "comprehension" else ()
        yield
        self.scope, self._path = before

    @contextmanager
    def part_of(self, unit: str, *, assigning: bool = False) -> Generator[None, None, None]:
        """Visit what belongs to a unit."""
        before = self.unit, self.assigning
        self.unit, self.assigning = unit, assigning
        yield
        self.unit, self.assigning = before
