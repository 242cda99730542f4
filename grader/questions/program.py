"""A short function that a student typed, checked before it is interpreted: what it may hold.

Anything else is ``Unreadable`` in a word, whatever it would have done.
"""

import ast

from grader.questions.arithmetic import Unreadable, parse

MOST_LINES = 20
BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "ceil", "enumerate", "float", "floor", "int", "len", "list"}
    | {"max", "min", "range", "reversed", "round", "sorted", "sum", "tuple", "zip"}
)
METHODS = frozenset({"append", "extend", "pop", "insert", "copy", "reverse", "sort", "count"})
_STATEMENTS = (
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If),
    *(ast.Expr, ast.Pass, ast.Break, ast.Continue),
)
_EXPRESSIONS = (
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Name, ast.List, ast.Tuple),
    *(ast.Subscript, ast.Slice, ast.ListComp, ast.GeneratorExp, ast.comprehension),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)
_REFUSED: dict[type[ast.AST], str] = {ast.MatMult: "@", ast.Is: "is", ast.IsNot: "is not"}


def read_program(text: str, name: str, parameters: tuple[str, ...]) -> ast.FunctionDef:
    """Return the function of a text; raises ``Unreadable`` for what cannot be interpreted."""
    lines = [line for line in text.split("\n") if line.strip() and line.strip()[0] != "#"]
    if len(lines) > MOST_LINES:
        raise Unreadable(f"has {len(lines)} lines, more than {MOST_LINES}")
    head = f"def {name}({', '.join(parameters)}):"
    tree = parse(text, "exec")
    assert isinstance(tree, ast.Module)
    body = [node for node in tree.body if not _is_math(node)]
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise Unreadable(f"must be one function that begins with {head}")
    function = body[0]
    if function.name != name or _names(function) != list(parameters):
        raise Unreadable(f"must begin with {head}")
    if function.decorator_list:
        raise Unreadable("must have no decorator")
    if isinstance(function.body[0], ast.Expr) and ast.get_docstring(function) is not None:
        function.body = function.body[1:] or [ast.Pass()]
    function.body = [node for node in function.body if not _is_math(node)] or [ast.Pass()]
    for statement in function.body:
        _check(statement)
    return function


def _names(function: ast.FunctionDef) -> list[str]:
    """Return the names of the arguments; none for arguments that are not plain."""
    given = function.args
    special = given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg
    return [] if special or given.defaults else [argument.arg for argument in given.args]


def _is_math(node: ast.AST) -> bool:
    """Tell whether a statement is ``import math``, which changes nothing here."""
    return isinstance(node, ast.Import) and [(a.name, a.asname) for a in node.names] == [
        ("math", None)
    ]


def _check(node: ast.AST) -> None:
    """Refuse what the interpreter does not know; depth is bounded already."""
    match node:
        case ast.AnnAssign(target=target, value=value):
            if not isinstance(target, ast.Name):
                raise Unreadable(f"line {node.lineno}: notes a type where none belongs")
            if value is not None:
                _check(value)
            return
        case ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
            raise Unreadable(f"line {node.lineno}: a loop must have no else")
        case ast.Assign(targets=targets):
            for target in targets:
                _check_target(target)
        case ast.For(target=target) | ast.comprehension(target=target):
            _check_target(target)
        case ast.AugAssign(target=target):
            _check_target(target)
        case ast.Constant(value=value):
            if not (value is None or isinstance(value, bool | int | float)):
                raise Unreadable(f"line {node.lineno}: has {type(value).__name__}, no number")
            return
        case ast.Call():
            _check_call(node)
            return
        case _ if type(node) in _REFUSED:
            raise Unreadable(f"uses {_REFUSED[type(node)]}, which is not known here")
        case _ if not isinstance(node, _STATEMENTS + _EXPRESSIONS):
            what, line = type(node).__name__, getattr(node, "lineno", 1)
            raise Unreadable(f"line {line}: {what} is not known here")
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        _check(child)


def _check_target(target: ast.AST) -> None:
    match target:
        case ast.Name(id=name):
            if name in BUILTINS:
                raise Unreadable(f"gives {name} another meaning")
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                _check_target(part)
        case ast.Subscript(slice=inner) if not isinstance(inner, ast.Slice):
            pass
        case _:
            raise Unreadable("assigns to something that is no name and no item")


def _check_call(node: ast.Call) -> None:
    line = node.lineno
    match node.func:
        case ast.Name(id=name):
            if name not in BUILTINS:
                raise Unreadable(f"line {line}: {name[:40]}() is not known here")
        case ast.Attribute(value=ast.Name(id="math"), attr="ceil" | "floor"):
            pass
        case ast.Attribute(value=value, attr=attr) if attr in METHODS:
            _check(value)
        case _:
            raise Unreadable(f"line {line}: calls what is not known here")
    for item in node.keywords:
        if item.arg not in ("default", "reverse", "start", "strict"):
            named = item.arg or "**"
            raise Unreadable(f"line {line}: {named} is not known here")
        _check(item.value)
    for argument in node.args:
        _check(argument)
