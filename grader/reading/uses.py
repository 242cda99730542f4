"""Walk a syntax tree once: who binds which name, and which names are used where.

Runs inside the limited process of ``syntax.py``: standard library only. What never runs while a
submission is graded is not looked at: ``if TYPE_CHECKING:`` and ``if __name__ == "__main__":``,
where nothing in the file can have given these names another value. Annotations run: a name in one
is only mentioned to whoever reads the code, but what is called there is called.
"""

import ast
from collections.abc import Iterable

from grader.reading.bindings import Bindings, Use
from grader.reading.cursor import MODULE
from grader.reading.scopes import Binding, Place, Scope, text
from grader.reading.targets import annotations, captures, parameters

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Walk(Bindings):
    """One pass over a file; afterwards its public attributes are complete."""

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
