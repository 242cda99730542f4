"""What a name means at a place in a file: dotted names of things that were imported.

Runs inside the limited process of ``syntax.py``: standard library only. The answer is a *may*
set, kept honest by order: a binding counts only if it comes before the use in the text, is not in
the other branch of the same ``if``, and is not overwritten on every way to the use. A name that
the file defines itself means nothing from outside, so it can break no rule.
"""

import ast
import builtins
from bisect import bisect_left
from dataclasses import dataclass, field

_MOST_MEANINGS = 16  # of one expression; hostile code must not blow up
_LONGEST = 300  # characters of a dotted name
_END = 1 << 60

Step = tuple[int, int, bool]  # a compound statement, the branch taken, do branches exclude another
Names = frozenset[str]
NOTHING: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """A point in a scope: how far in the text, and inside which branches."""

    order: int = _END
    path: tuple[Step, ...] = ()

    def dominates(self, other: "Place") -> bool:
        """True if every way to ``other`` passes here."""
        return other.path[: len(self.path)] == self.path

    def excludes(self, other: "Place") -> bool:
        """True if the two are in different branches of one ``if``."""
        for mine, theirs in zip(self.path, other.path, strict=False):
            if mine != theirs:
                return mine[0] == theirs[0] and mine[2]
        return False


@dataclass(frozen=True, slots=True)
class Binding:
    """One assignment of a name: to an import, to an expression, or to something unknown."""

    place: Place
    imported: str = ""
    value: ast.expr | None = None


def _order(binding: Binding) -> int:
    return binding.place.order


@dataclass(slots=True)
class Scope:
    """A module, class, function or comprehension; ``start`` is where it runs in its parent."""

    kind: str
    parent: "Scope | None" = None
    start: Place = field(default_factory=Place)  # the end: a function runs later
    bindings: dict[str, list[Binding]] = field(default_factory=dict[str, list[Binding]])
    owner: "Scope | None" = None  # the class, if this is a method
    self_name: str = ""
    attributes: dict[str, list[ast.expr | None]] = field(
        default_factory=dict[str, list[ast.expr | None]]
    )

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding; they must come in the order of the text."""
        self.bindings.setdefault(name, []).append(binding)

    def reaching(self, name: str, place: Place) -> list[Binding]:
        """List the bindings of a name that may hold at a place."""
        found: list[Binding] = []
        known = self.bindings.get(name, [])
        for at in reversed(range(bisect_left(known, place.order, key=_order))):
            if known[at].place.excludes(place):
                continue
            found.append(known[at])
            if known[at].place.dominates(place) or len(found) > _MOST_MEANINGS:
                break
        return found


@dataclass(slots=True)
class Resolver:
    """Turns expressions into dotted names; every expression was given a scope and place before."""

    where: dict[ast.AST, tuple[Scope, Place]]
    stars: list[str]  # modules of ``from m import *``
    _known: dict[ast.AST, Names] = field(default_factory=dict[ast.AST, Names])

    def names(self, node: ast.expr) -> Names:
        """Give the dotted names that an expression may stand for.

        ``f()`` is written behind a name for what a call returns: ``m.Model.load().run``.
        """
        if node not in self._known:
            self._known[node] = NOTHING  # a cycle ends here
            found = self._names(node)
            if len(found) > _MOST_MEANINGS or any(len(name) > _LONGEST for name in found):
                found = NOTHING
            self._known[node] = found
        return self._known[node]

    def _names(self, node: ast.expr) -> Names:
        match node:
            case ast.Name():
                return self._lookup(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.NamedExpr():
                return self.names(node.value)
            case ast.IfExp():
                return self.names(node.body) | self.names(node.orelse)
            case ast.BoolOp():
                return NOTHING.union(*map(self.names, node.values))
            case _:
                return NOTHING

    def home(self, node: ast.Name) -> Scope | None:
        """Find the scope that binds a name; None if it is a builtin or unknown."""
        scope = self.where[node][0]
        start: Scope | None = scope
        while start is not None:
            if node.id in start.bindings and (start.kind != "class" or start is scope):
                return start
            start = start.parent
        return None

    def is_unknown(self, node: ast.Name) -> bool:
        """Tell whether no statement of the file binds a name, and nothing else that is known."""
        known = hasattr(builtins, node.id) or node.id.startswith("__") or self.stars
        return not known and self.home(node) is None

    def _lookup(self, node: ast.Name) -> Names:
        scope, place = self.where[node]
        first, later = scope, False
        while True:
            if scope.kind != "class" or scope is first:
                reaching = scope.reaching(node.id, place)
                if reaching:
                    return NOTHING.union(*map(self._binding, reaching))
                if node.id in scope.bindings and scope.kind in ("function", "comprehension"):
                    return NOTHING
            if scope.parent is None:
                break
            later |= scope.kind == "function"  # its body runs when all around it is bound
            scope, place = scope.parent, Place() if later else scope.start
        if node.id in scope.bindings:
            return NOTHING
        if hasattr(builtins, node.id):
            return frozenset({f"builtins.{node.id}"})
        return frozenset(f"{module}.{node.id}" for module in self.stars)

    def _binding(self, binding: Binding) -> Names:
        if binding.imported:
            return frozenset({binding.imported})
        return NOTHING if binding.value is None else self.names(binding.value)

    def _attribute(self, node: ast.Attribute) -> Names:
        owner = self.self_class(node.value)
        if owner is None:
            return frozenset(f"{name}.{node.attr}" for name in self.names(node.value))
        # Methods run in any order: an attribute means something if all its assignments agree.
        values = owner.attributes.get(node.attr, [])
        meanings = {NOTHING if value is None else self.names(value) for value in values}
        return meanings.pop() if len(meanings) == 1 else NOTHING

    def self_class(self, node: ast.expr) -> Scope | None:
        """Give the class whose instance a name is, if it is the first parameter of a method."""
        if not isinstance(node, ast.Name):
            return None
        home = self.home(node)
        if home is None or home.self_name != node.id or len(home.bindings[node.id]) > 1:
            return None
        return home.owner

    def _call(self, node: ast.Call) -> Names:
        called = self.names(node.func)
        words = [text(argument) for argument in node.args]
        if "builtins.getattr" in called and len(words) > 1 and words[1] is not None:
            return frozenset(f"{name}.{words[1]}" for name in self.names(node.args[0]))
        if words and words[0] is not None:
            if "importlib.import_module" in called:
                return frozenset({words[0]})
            if "builtins.__import__" in called:
                deep = len(node.args) > 3 or any(key.arg == "fromlist" for key in node.keywords)
                return frozenset({words[0] if deep else words[0].partition(".")[0]})
        return frozenset(f"{name}()" for name in called if not name.startswith("builtins."))

    def _subscript(self, node: ast.Subscript) -> Names:
        word = text(node.slice)
        if word is None:
            return NOTHING
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "__dict__":
            return frozenset(f"{name}.{word}" for name in self.names(base.value))
        if isinstance(base, ast.Call) and "builtins.vars" in self.names(base.func) and base.args:
            return frozenset(f"{name}.{word}" for name in self.names(base.args[0]))
        return frozenset({word}) if "sys.modules" in self.names(base) else NOTHING


def text(node: ast.expr) -> str | None:
    """Read a string literal, also one that is added up from literals."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text(node.left), text(node.right)
        return None if left is None or right is None else left + right
    return None
