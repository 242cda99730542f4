"""What a program can lose: the changes of ``mutations`` that leave something out."""

import ast
from collections.abc import Iterator

from grader.prove.mutants.spans import Edit, Text
from grader.reading.syntax import Function


def drops(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Drop defaults, statements, decorators and what a block stands under."""
    yield from _defaults(node, text)
    yield from _dropped(node, text)


def below_docstring(node: ast.Module | ast.ClassDef | Function) -> list[ast.stmt]:
    """Return the statements of a body but its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _defaults(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Drop what a parameter is if nobody says it; where others follow it, no Python comes out."""
    if isinstance(node, ast.arguments):
        placed = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
        placed += node.kwonlyargs
        defaults: list[ast.expr | None] = [*node.defaults, *node.kw_defaults]
        for parameter, default in zip(placed, defaults, strict=True):
            if default is not None:
                yield text.cut(parameter, default, "default")


def _dropped(node: ast.AST, text: Text) -> Iterator[Edit]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            for item in node.decorator_list:
                yield text.put_line(item, "", "decorator")
            if not isinstance(node, ast.ClassDef):
                yield from _statements(node, text)
        case ast.With(items=items) if not any(item.optional_vars for item in items):
            yield text.head(node, items[-1].context_expr, "if True", "statement")
        case ast.Continue():
            yield text.put(node, "break", "statement")
        case _:
            pass


def _statements(function: Function, text: Text) -> Iterator[Edit]:
    """Drop the statements of a function that others can do without."""
    known = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    for node in _in_order(below_docstring(function)):
        match node:
            case ast.Assign(targets=targets):
                new = {name for target in targets for name in _stored(target)}
                drops = new <= known
                known |= new
            case ast.AnnAssign(target=target, value=value):
                drops = value is not None and not isinstance(target, ast.Name)
                known |= {*_stored(target)}
            case ast.For(target=target):
                drops, new = False, {*_stored(target)}
                known |= new
            case ast.Return():
                drops = node is not function.body[-1]
            case ast.Expr(value=ast.Constant()):
                drops = False
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Delete():
                drops = True
            case _:
                drops = isinstance(node, ast.Continue)
        if drops:
            yield text.put(node, "pass", "statement")


def _in_order(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body and its blocks, but not those of functions in it."""
    for node in body:
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _in_order(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from _in_order(handler.body)


def _stored(target: ast.AST) -> Iterator[str]:
    for inner in ast.walk(target):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
