"""Walk a syntax tree once: who binds which name, and which names are used where.

Runs inside the limited process of ``syntax.py``: standard library only. What never runs while a
submission is graded is not looked at: ``if TYPE_CHECKING:`` and ``if __name__ == "__main__":``,
where nothing in the file can have given these names another value. Annotations run: a name in one
is only mentioned to whoever reads the code, but what is called there is called.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from grader.reading.cursor import MODULE, Cursor
from grader.reading.scopes import Binding, Place, Scope, text
from grader.reading.targets import annotations, any_item, captures, items, parameters, roots
from grader.reading.unrun import Unrun

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


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


class Walk(ast.NodeVisitor):
    """One pass over a file; afterwards its public attributes are complete."""

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

    # Names and what is done with them.

    def visit_Name(self, node: ast.Name) -> None:
        self.where[node] = self._at.scope, self._at.place()
        if isinstance(node.ctx, ast.Load):
            self._use(node)
        else:
            self._at.bind(node.id)
            self._own(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.members.add(node.attr)
            self._visit_all([node.value])
            return
        self._use(node)
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name):
            self.where[base] = self._at.scope, self._at.place()
        else:
            self._visit_all([base])

    def visit_Call(self, node: ast.Call) -> None:
        self._visit_all([node.func], "call")
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        asks = name in ("isinstance", "issubclass")
        self._visit_all(node.args, "check" if asks else "mention")
        self._visit_all([keyword.value for keyword in node.keywords])
        if any(text(argument) is not None for argument in node.args):
            self._use(node)  # perhaps getattr or an import, by a literal
        if name in ("eval", "exec") and node.args:
            self._visit_source(text(node.args[0]), node.lineno)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        kind = "check" if self._at.kind == "check" else "mention"
        self._visit_all([node.value, node.slice], kind)
        if isinstance(node.ctx, ast.Load) and text(node.slice) is not None:
            self._use(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self._visit_all([node.left, *node.comparators], "check")

    def _use(self, node: ast.expr) -> None:
        at = self._at
        # ``x = f()`` runs at import; ``x = f`` only gives f another name.
        runs = at.kind == "call" and at.assigning and at.at_import
        self.uses.append(Use(node, at.kind, MODULE if runs else at.unit))

    def _annotations(self, nodes: Iterable[ast.expr | None]) -> None:
        """Visit what is written beside names; who reads it back can call what is there."""
        if self._unrun.annotations_run:
            self._visit_all(nodes, "mention" if self._unrun.annotations_are_read else "check")

    def _visit_source(self, source: str | None, line: int) -> None:
        try:
            tree = ast.parse(source or "")
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt):
                node.lineno = line
        self._visit_all(tree.body)

    # Definitions.

    def _own(self, name: str, node: ast.stmt | ast.expr) -> str:
        """Make a name of the module a unit; elsewhere the unit stays what it is."""
        if self._at.scope is not self.module:
            return self._at.unit
        self.units.setdefault(name, node.lineno)
        return name

    def visit_FunctionDef(self, node: Function) -> None:
        self.members.add(node.name)
        with self._at.part_of(self._own(node.name, node)):
            self._visit_all(node.decorator_list, "call")
            scope = self._function_scope(node.args)
            self._annotations([*annotations(node.args), node.returns])
            self._at.bind(node.name)
            kinds = [item.id for item in node.decorator_list if isinstance(item, ast.Name)]
            names = list(scope.bindings)
            if self._at.scope.kind == "class" and names and "staticmethod" not in kinds:
                scope.owner, scope.self_name = self._at.scope, names[0]
            with self._at.inside(scope):
                for item in getattr(node, "type_params", ()):  # Python 3.12
                    self._at.bind(item.name)
                self._visit_all(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        with self._at.inside(self._function_scope(node.args)):
            self._visit_all([node.body])

    def _function_scope(self, args: ast.arguments) -> Scope:
        """Visit the defaults, which run here, and make the scope with its parameters."""
        self._visit_all([*args.defaults, *args.kw_defaults])
        scope = Scope("function", self._at.scope)
        for name, value in parameters(args):
            scope.bind(name, Binding(Place(0), value=value))
        return scope

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        with self._at.part_of(self._own(node.name, node)):
            self._visit_all(node.decorator_list, "call")
            self._visit_all(node.bases, "base")
            self._visit_all([keyword.value for keyword in node.keywords])
            with self._at.inside(Scope("class", self._at.scope, self._at.place())):
                self._visit_all(node.body)
            self._at.bind(node.name)

    def _comprehension(self, node: Comprehension) -> None:
        first, *others = node.generators
        self._visit_all([first.iter])
        with self._at.inside(Scope("comprehension", self._at.scope, self._at.place())):
            self._each(first.target, first.iter)
            self._visit_all(first.ifs)
            for generator in others:
                self._visit_all([generator.iter])
                self._each(generator.target, generator.iter)
                self._visit_all(generator.ifs)
            pair = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self._visit_all(pair)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

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

    # Branches.

    def _branch(
        self, node: ast.AST, number: int, body: Iterable[ast.AST], *, exclusive: bool = False
    ) -> None:
        with self._at.branch(node, number, exclusive=exclusive):
            self._visit_all(body)

    def visit_If(self, node: ast.If) -> None:
        if not self._unrun.never(node.test):
            self._visit_all([node.test])
            self._branch(node, 0, node.body, exclusive=True)
        self._branch(node, 1, node.orelse, exclusive=True)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._visit_all([node.iter])
        self._each(node.target, node.iter)
        self._branch(node, 0, node.body)
        self._branch(node, 1, node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self._visit_all([node.test])
        self._branch(node, 0, node.body)
        self._branch(node, 1, node.orelse)

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        self._branch(node, 0, node.body)
        for number, handler in enumerate(node.handlers, 2):
            self._branch(node, number, [handler])
        self._branch(node, 1, node.orelse)
        self._visit_all(node.finalbody)

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> None:
        self._visit_all([node.subject])
        for number, case in enumerate(node.cases):
            with self._at.branch(node, number, exclusive=True):
                self._visit_all([case.pattern], "check")
                for name, value in captures(case.pattern, node.subject):
                    self._at.bind(name, value=value)
                self._visit_all([case.guard, *case.body])
