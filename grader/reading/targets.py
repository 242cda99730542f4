"""What a target binds: the names of assignments, parameters and patterns, and their values.

Runs inside the limited process of ``syntax.py``: standard library only.
"""

import ast
from collections.abc import Iterator

Bound = Iterator[tuple[str, ast.expr | None]]  # names, each with its value if the text shows it


def roots(target: ast.expr) -> list[str]:
    """List the names that an assignment is about: ``a``, ``a.b``, ``(a, b)``."""
    if items(target):
        return [name for item in items(target) for name in roots(item)]
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
        target = target.value
    return [target.id] if isinstance(target, ast.Name) else []


def items(node: ast.expr | None) -> list[ast.expr]:
    """List the items of a tuple or list display."""
    return node.elts if isinstance(node, ast.Tuple | ast.List) else []


def any_item(node: ast.expr) -> ast.expr | None:
    """Return an expression that may be any item of a display, None for all else."""
    return ast.BoolOp(ast.Or(), items(node)) if items(node) else None


def arguments(args: ast.arguments) -> list[ast.arg]:
    """List the parameters, ``*args`` and ``**kwargs`` among them, in the order of the text."""
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    return [item for item in every if item is not None]


def parameters(args: ast.arguments) -> Bound:
    """Give the parameters with their defaults."""
    places = [*args.posonlyargs, *args.args]
    values: dict[ast.arg, ast.expr | None]
    values = dict(zip(reversed(places), reversed(args.defaults), strict=False))
    values |= zip(args.kwonlyargs, args.kw_defaults, strict=True)
    for item in arguments(args):
        yield item.arg, values.get(item)


def annotations(args: ast.arguments) -> list[ast.expr]:
    """List what is written beside the parameters."""
    return [item.annotation for item in arguments(args) if item.annotation]


def captures(pattern: ast.pattern, subject: ast.expr) -> Bound:
    """Give the names of a pattern that stand for its subject, or for an item of a display."""
    match pattern:
        case ast.MatchAs():
            if pattern.name:
                yield pattern.name, subject
            if pattern.pattern is not None:
                yield from captures(pattern.pattern, subject)
        case ast.MatchOr():
            for each in pattern.patterns:
                yield from captures(each, subject)
        case ast.MatchSequence():
            if len(items(subject)) == len(pattern.patterns):
                for each, item in zip(pattern.patterns, items(subject), strict=True):
                    yield from captures(each, item)
        case _:
            pass
