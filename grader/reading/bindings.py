"""Who binds which name in a syntax tree: assignments of all kinds, and imports."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from grader.reading.cursor import Cursor
from grader.reading.scopes import Binding, Place, Scope
from grader.reading.targets import any_item, items, roots
from grader.reading.unrun import Unrun


@dataclass(frozen=True, slots=True)
class Use:
    """A name, or a chain of attributes from one, that runs as part of ``unit``."""

    node: ast.expr
    kind: str  # "call", "mention", "base" or "check" (isinstance, comparisons)
    unit: str


@dataclass(frozen=True, slots=True)
class Import:
    """An import of a module; relative ones begin with a dot."""

    line: int
    module: str
    unit: str


class Bindings(ast.NodeVisitor):
    """The part of a walk that binds; afterwards its public attributes are complete."""

    def __init__(self, tree: ast.Module) -> None:
        self.where: dict[ast.AST, tuple[Scope, Place]] = {}
        self.uses: list[Use] = []
        self.imports: list[Import] = []
        self.stars: list[str] = []
        self.units: dict[str, int] = {}  # by name: the line
        self.edges: set[tuple[str, str]] = set()
        self.members: set[str] = set()  # attributes that the file itself defines
        self._at = Cursor()
        self.module = self._at.module
        self._unrun = Unrun(tree)
        self._visit_all(tree.body)

    def _visit_all(self, nodes: Iterable[ast.AST | None], kind: str = "mention") -> None:
        with self._at.doing(kind):
            for node in nodes:
                if node is not None:
                    self.visit(node)

    def _own(self, name: str, node: ast.stmt | ast.expr) -> str:
        """Make a name of the module a unit; elsewhere the unit stays what it is."""
        if self._at.scope is not self.module:
            return self._at.unit
        self.units.setdefault(name, node.lineno)
        return name

    def _annotations(self, nodes: Iterable[ast.expr | None]) -> None:
        """Visit what is written beside names; who reads it back can call what is there."""
        if self._unrun.annotations_run:
            self._visit_all(nodes, "mention" if self._unrun.annotations_are_read else "check")

    # Assignments.

    def _each(self, target: ast.expr, found: ast.expr) -> None:
        """Bind what a loop runs over: a name may be any item of a display."""
        self._target(target, any_item(found) if isinstance(target, ast.Name) else None)

    def _assign(self, targets: list[ast.expr], value: ast.expr | None) -> None:
        names = [name for target in targets for name in roots(target)]
        at = self._at
        if at.scope is not self.module or not names:
            self._assign_parts(targets, value)
            return
        self.edges |= {(other, names[0]) for other in names[1:]}
        for name in names:  # ``math.f = …`` changes what everybody finds under math
            self.units.setdefault(name, targets[0].lineno)
        with at.part_of(names[0], assigning=True):
            self._assign_parts(targets, value)

    def _assign_parts(self, targets: list[ast.expr], value: ast.expr | None) -> None:
        self._visit_all([value])
        for target in targets:
            self._target(target, value)

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        parts, values = items(target), items(value)
        if isinstance(target, ast.Name):
            self._at.bind(target.id, value=value)
            self._own(target.id, target)
        elif parts and len(parts) == len(values):
            for item, part in zip(parts, values, strict=True):
                self._target(item, part)
        else:
            self.visit(target)
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                self._attribute(target.value.id, target.attr, value)

    def _attribute(self, base: str, name: str, value: ast.expr | None) -> None:
        scope: Scope | None = self._at.scope
        while scope is not None and base not in scope.bindings:
            scope = scope.parent
        if scope is not None and scope.owner is not None and scope.self_name == base:
            scope.owner.attributes.setdefault(name, []).append(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._assign(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self._at.around.kind != "function":
            self._annotations([node.annotation])
        if node.value is not None:
            self._assign([node.target], node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._visit_all([node.value])
        self._target(node.target, None)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope, self._at.scope = self._at.scope, self._at.around
        self._target(node.target, node.value)
        self._at.scope = scope

    def visit_Global(self, node: ast.Global) -> None:
        # Another function may set it at any time: unknown, beside what the module says.
        with self._at.branch(node, 0, exclusive=False):
            for name in node.names:
                self.module.bind(name, Binding(self._at.place()))
                self.units.setdefault(name, node.lineno)
                self.edges.add((name, self._at.unit))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._visit_all([node.type], "check")
        if node.name:
            self._at.bind(node.name)
        self._visit_all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self._at.bind(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._at.bind(node.rest)
        self.generic_visit(node)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """Read ``type X = ...`` (Python 3.12) as an assignment: ``X.__value__`` gives it."""
        name, value = (getattr(node, field, None) for field in ("name", "value"))
        if isinstance(name, ast.Name) and isinstance(value, ast.expr):
            self._assign([name], value)

    # Imports.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.append(Import(node.lineno, alias.name, self._at.unit))
            top = alias.name.partition(".")[0]
            self._at.bind(alias.asname or top, imported=alias.name if alias.asname else top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        # ``from labs import common`` imports labs.common.
        inner = [f"{module}.{alias.name}" for alias in node.names if alias.name != "*"]
        found = inner if module == "labs" else [module]
        self.imports += [Import(node.lineno, name, self._at.unit) for name in found]
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self._at.bind(alias.asname or alias.name, imported=f"{module}.{alias.name}")
