"""Walk a syntax tree once: who binds which name, and which names are used where.

Runs inside the limited process of ``syntax.py``: standard library only. What never runs while a
submission is graded is not looked at: annotations, ``if TYPE_CHECKING:`` and
``if __name__ == "__main__":``.

A *unit* is what a task can own: a function, a class or an assigned name of the module. Statements
beside them belong to the unit ``MODULE``.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from grader.scopes import Binding, Place, Scope, Step, text

MODULE = "<module>"
Function = ast.FunctionDef | ast.AsyncFunctionDef


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
        self.module = Scope("module")
        self.where: dict[ast.AST, tuple[Scope, Place]] = {}
        self.uses: list[Use] = []
        self.imports: list[Import] = []
        self.stars: list[str] = []
        self.units: dict[str, int] = {}  # by name: the line
        self.edges: set[tuple[str, str]] = set()
        self.members: set[str] = set()  # attributes that the file itself defines
        self._scope = self.module
        self._path: tuple[Step, ...] = ()
        self._order = 0
        self._unit = MODULE
        self._kind = "mention"
        self._assigning = False  # the value of a name of the module
        self._stored = {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        for statement in tree.body:
            self.visit(statement)

    # Where we are.

    def _place(self) -> Place:
        self._order += 1
        return Place(self._order, self._path)

    def _at_module(self) -> bool:
        """True if what is visited runs when the module is imported."""
        scope = self._scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope is self.module

    def _bind(self, name: str, imported: str = "", value: ast.expr | None = None) -> None:
        self._scope.bind(name, Binding(self._place(), imported, value))

    def _visit_all(self, nodes: Iterable[ast.AST | None], kind: str = "mention") -> None:
        before, self._kind = self._kind, kind
        for node in nodes:
            if node is not None:
                self.visit(node)
        self._kind = before

    def _branch(self, node: ast.AST, *blocks: list[ast.stmt], exclusive: bool = False) -> None:
        before = self._path
        for number, block in enumerate(blocks):
            self._path = (*before, (id(node), number, exclusive))
            self._visit_all(block)
        self._path = before

    def _inside(self, scope: Scope, nodes: Iterable[ast.AST]) -> None:
        before = self._scope, self._path
        self._scope, self._path = scope, () if scope.kind != "comprehension" else self._path
        self._visit_all(nodes)
        self._scope, self._path = before

    # Names and what is done with them.

    def visit_Name(self, node: ast.Name) -> None:
        self.where[node] = self._scope, self._place()
        if isinstance(node.ctx, ast.Load):
            self._use(node)
        else:
            self._bind(node.id)
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
            self.where[base] = self._scope, self._place()
        else:
            self._visit_all([base])

    def visit_Call(self, node: ast.Call) -> None:
        self._visit_all([node.func], "call")
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        asks = name in ("isinstance", "issubclass")
        self._visit_all(node.args, "check" if asks else "mention")
        self._visit_all([keyword.value for keyword in node.keywords])
        if name == "getattr" or any(text(argument) is not None for argument in node.args):
            self._use(node)  # perhaps getattr or an import, by a literal
        if name in ("eval", "exec") and node.args:
            self._visit_source(text(node.args[0]), node.lineno)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._visit_all([node.value, node.slice])
        if isinstance(node.ctx, ast.Load) and text(node.slice) is not None:
            self._use(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self._visit_all([node.left, *node.comparators], "check")

    def _use(self, node: ast.expr) -> None:
        unit = self._unit
        if self._kind == "call" and self._assigning and self._at_module():
            unit = MODULE  # ``x = f()`` runs at import; ``x = f`` only gives f another name
        self.uses.append(Use(node, self._kind, unit))

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
        if self._scope is not self.module:
            return self._unit
        self.units.setdefault(name, node.lineno)
        return name

    def _function(self, node: Function) -> None:
        self.members.add(node.name)
        before, self._unit = self._unit, self._own(node.name, node)
        self._visit_all(node.decorator_list, "call")
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._bind(node.name)
        scope = Scope("function", self._scope)
        static = any(
            isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list
        )
        names = self._parameters(scope, node.args)
        if self._scope.kind == "class" and names and not static:
            scope.owner, scope.self_name = self._scope, names[0]
        self._inside(scope, node.body)
        self._unit = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        scope = Scope("function", self._scope)
        self._parameters(scope, node.args)
        self._inside(scope, [node.body])

    def _parameters(self, scope: Scope, args: ast.arguments) -> list[str]:
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        names = [item.arg for item in every if item is not None]
        for name in names:
            scope.bind(name, Binding(Place(0)))
        return names

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._unit = self._unit, self._own(node.name, node)
        self._visit_all(node.decorator_list, "call")
        self._visit_all(node.bases, "base")
        self._visit_all([keyword.value for keyword in node.keywords])
        self._inside(Scope("class", self._scope, self._place()), node.body)
        self._bind(node.name)
        self._unit = before

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        self._visit_all([node.generators[0].iter])
        scope = Scope("comprehension", self._scope, self._place())
        inner: list[ast.AST] = []
        for number, generator in enumerate(node.generators):
            inner += [generator.iter] if number else []
            inner += [generator.target, *generator.ifs]
        inner += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._inside(scope, inner)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    # Assignments.

    def _assign(self, targets: list[ast.expr], value: ast.expr | None) -> None:
        roots = [name for target in targets for name in _roots(target)]
        before = self._unit, self._assigning
        if self._scope is self.module and roots:
            self._unit, self._assigning = roots[0], True
            self.edges |= {(other, roots[0]) for other in roots[1:]}
        self._visit_all([value])
        for target in targets:
            self._target(target, value)
        self._unit, self._assigning = before

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        parts, values = _items(target), _items(value)
        if isinstance(target, ast.Name):
            self._bind(target.id, value=value)
            self._own(target.id, target)
        elif parts and len(parts) == len(values):
            for item, part in zip(parts, values, strict=True):
                self._target(item, part)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            self.visit(target)
            self._attribute(target.value.id, target.attr, value)
        else:
            self.visit(target)

    def _attribute(self, base: str, name: str, value: ast.expr | None) -> None:
        scope: Scope | None = self._scope
        while scope is not None and base not in scope.bindings:
            scope = scope.parent
        if scope is not None and scope.owner is not None and scope.self_name == base:
            scope.owner.attributes.setdefault(name, []).append(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._assign(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign([node.target], node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._visit_all([node.value])
        self._target(node.target, None)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self._scope
        while self._scope.kind == "comprehension" and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._target(node.target, node.value)
        self._scope = scope

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            # Another function may set it at any time: unknown, beside what the module says.
            step = (id(node), 0, False)
            self.module.bind(name, Binding(Place(self._place().order, (step,))))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._visit_all([node.type], "check")
        if node.name:
            self._bind(node.name)
        self._visit_all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name)

    # Imports.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.append(Import(node.lineno, alias.name, self._unit))
            top = alias.name.partition(".")[0]
            self._bind(alias.asname or top, imported=alias.name if alias.asname else top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        # ``from labs import common`` imports labs.common.
        inner = [f"{module}.{alias.name}" for alias in node.names if alias.name != "*"]
        found = inner if module == "labs" else [module]
        self.imports += [Import(node.lineno, name, self._unit) for name in found]
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self._bind(alias.asname or alias.name, imported=f"{module}.{alias.name}")

    # Branches.

    def visit_If(self, node: ast.If) -> None:
        if self._never_runs(node.test):
            self._branch(node, node.orelse)
            return
        self._visit_all([node.test])
        self._branch(node, node.body, node.orelse, exclusive=True)

    def _never_runs(self, test: ast.expr) -> bool:
        match test:
            case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
                return "TYPE_CHECKING" not in self._stored
            case ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ):
                return "__name__" not in self._stored
            case _:
                return False

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._visit_all([node.iter, node.target])
        self._branch(node, node.body, node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self._visit_all([node.test])
        self._branch(node, node.body, node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        handlers: list[ast.AST] = list(node.handlers)
        self._branch(node, node.body)
        before, self._path = self._path, (*self._path, (id(node), 1, False))
        self._visit_all(handlers)
        self._path = before
        self._branch(node, [], [], node.orelse)
        self._visit_all(node.finalbody)

    def visit_TryStar(self, node: ast.TryStar) -> None:
        self.visit_Try(node)  # pyright: ignore[reportArgumentType]  # the same fields

    def visit_Match(self, node: ast.Match) -> None:
        self._visit_all([node.subject])
        before = self._path
        for number, case in enumerate(node.cases):
            self._path = (*before, (id(node), number, True))
            self._visit_all([case.pattern], "check")
            self._visit_all([case.guard, *case.body])
        self._path = before


def _roots(target: ast.expr) -> list[str]:
    """List the names that an assignment is about: ``a``, ``a.b``, ``(a, b)``."""
    if _items(target):
        return [name for item in _items(target) for name in _roots(item)]
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        target = target.value
    return [target.id] if isinstance(target, ast.Name) else []


def _items(node: ast.expr | None) -> list[ast.expr]:
    """List the items of a tuple or list display."""
    return node.elts if isinstance(node, ast.Tuple | ast.List) else []
