"""The small changes that make mutants: what could stand in the place of a node of a syntax tree.

A change is one of the text, so that all else keeps its form and a line can be shown as an author
knows it. Whether Python comes out, and another program than before, is for ``mutants`` to ask. What
changes no result is left alone: annotations, docstrings, texts of errors, and numbers that only
tune a kernel's compiler.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from grader.prove.spans import Edit, Text
from grader.reading.syntax import Function

COMPARISONS = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
# Where a bound moves the way in which no other operator of the same side moves it.
BOUNDS = {ast.Lt: "- 1", ast.LtE: "+ 1", ast.Gt: "+ 1", ast.GtE: "- 1"}
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "%"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
CASTS = frozenset(
    {"to", "float", "double", "half", "bfloat16", "long", "int", "bool", "type_as", "cpu", "astype"}
    | {"contiguous", "clone", "copy", "detach", "tolist", "item", "list", "tuple", "deepcopy"}
)
OTHERS = {"min": "max", "minimum": "maximum", "amin": "amax", "any": "all", "floor": "ceil"}
OTHERS |= {"zeros": "ones", "zeros_like": "ones_like", "tril": "triu", "argmin": "argmax"}
OTHERS |= {new: old for old, new in OTHERS.items()}
DTYPES = {"float64": "float32", "float32": "float16", "bfloat16": "float16", "int64": "int32"}
RANGES = ("range", "static_range")
TUNING = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def edits(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Yield the changes of one node."""
    for kind in (_comparisons, _operators, _unary, _tests, _calls, _names, _constants, _bounds):
        yield from kind(node, text)
    yield from _defaults(node, text)
    yield from _dropped(node, text)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one in which changes are made."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (*node.decorator_list, node.args, *below_docstring(node))
        case ast.ClassDef():
            yield from (*node.decorator_list, *below_docstring(node))
        case ast.AnnAssign(target=target, value=value):
            yield target
            if value is not None:
                yield value
        case ast.arg() | ast.Raise() | ast.Assert() | ast.JoinedStr():
            pass
        case ast.Import() | ast.ImportFrom():
            pass
        case ast.keyword(arg=name) if name in TUNING:
            pass
        case _:
            yield from ast.iter_child_nodes(node)


def below_docstring(node: ast.Module | ast.ClassDef | Function) -> list[ast.stmt]:
    """Return the statements of a body but its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _comparisons(node: ast.AST, text: Text) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for op, (one, other) in zip(
            node.ops, pairwise([node.left, *node.comparators]), strict=True
        ):
            old, new = COMPARISONS[type(op)]
            yield from (text.between(one, other, old, sign, "comparison") for sign in new)
            if type(op) in BOUNDS and not isinstance(other, ast.Constant):
                yield text.put(other, f"{text.atom(other)} {BOUNDS[type(op)]}", "bound")


def _operators(node: ast.AST, text: Text) -> Iterator[Edit]:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            old, new = OPERATORS[type(op)]
            yield text.between(left, right, re.escape(old), new, "operator")
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            old, new = OPERATORS[type(op)]
            yield text.between(target, value, re.escape(old), new, "operator")
            yield text.between(target, value, re.escape(old), "", "operator")
        case ast.BoolOp(op=op, values=values):
            old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from (text.between(*pair, old, new, "operator") for pair in pairwise(values))
        case _:
            pass


def _unary(node: ast.AST, text: Text) -> Iterator[Edit]:
    if isinstance(node, ast.UnaryOp):
        yield text.put(node, text.atom(node.operand), "unary")


def _tests(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Turn conditions round: an early return comes too often, or never."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            if not _has_an_opposite(test):
                yield text.put(test, f"not {text.atom(test)}", "condition")
        case ast.comprehension(ifs=ifs):
            yield from (text.put(test, "True", "condition") for test in ifs)
        case _:
            pass


def _has_an_opposite(test: ast.expr) -> bool:
    """Tell whether another change turns the condition round."""
    match test:
        case ast.Compare(ops=[_]) | ast.Constant() | ast.UnaryOp(op=ast.Not()):
            return True
        case _:
            return False


def _calls(node: ast.AST, text: Text) -> Iterator[Edit]:
    if not isinstance(node, ast.Call):
        return
    given = [*node.args, *node.keywords]
    for place in range(len(node.args), len(given)):
        if node.keywords[place - len(node.args)].arg not in TUNING:
            left = [text.of(item) for item in (*given[:place], *given[place + 1 :])]
            yield text.put(node, f"{text.atom(node.func)}({', '.join(left)})", "keyword")
    for place, pair in enumerate(pairwise(node.args)):
        if not any(isinstance(item, ast.Starred) for item in pair):
            said = [text.of(item) for item in given]
            said[place : place + 2] = said[place + 1], said[place]
            yield text.put(node, f"{text.atom(node.func)}({', '.join(said)})", "swap")
    yield from _casts(node, text)


def _casts(node: ast.Call, text: Text) -> Iterator[Edit]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in CASTS:
            kept = node.args[0] if name == "deepcopy" and node.args else value
            yield text.put(node, text.atom(kept), "cast")
        case ast.Call(func=ast.Name(id=name), args=[value], keywords=[]) if name in CASTS:
            yield text.put(node, text.atom(value), "cast")
        case _:
            pass


def _names(node: ast.AST, text: Text) -> Iterator[Edit]:
    match node:
        case ast.Call(func=ast.Name(id=name) as func) if name in OTHERS:
            yield text.put(func, OTHERS[name], "name")
        case ast.Call(func=ast.Attribute(attr=name) as func) if name in OTHERS:
            yield text.put(func, f"{text.atom(func.value)}.{OTHERS[name]}", "name")
        case ast.Attribute(value=value, attr=name) if name in DTYPES:
            yield text.put(node, f"{text.atom(value)}.{DTYPES[name]}", "cast")
        case _:
            pass


def _constants(node: ast.AST, text: Text) -> Iterator[Edit]:
    match node:
        case ast.Constant(value=bool(value)):
            yield text.put(node, str(not value), "constant")
        case ast.Constant(value=int(value)):
            yield text.put(node, str(value + 1), "constant")
            yield text.put(node, str(value - 1), "constant")
        case ast.Constant(value=float(value)):
            yield text.put(node, repr(2 * value) if value else "1.0", "constant")
        case _:
            pass


def _bounds(node: ast.AST, text: Text) -> Iterator[Edit]:
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            ends = [lower, upper, step]
            said = [text.of(end) if end else "" for end in ends]
            for place, end in enumerate(ends):
                if end is not None:
                    left = [*said[:place], "", *said[place + 1 :]]
                    yield text.put(node, ":".join(left if left[2] else left[:2]), "slice")
            for end in (lower, upper):
                if end is not None:
                    yield from _moved(end, text)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in RANGES:
            for end in node.args:
                yield from _moved(end, text)
        case _:
            pass


def _moved(end: ast.expr, text: Text) -> Iterator[Edit]:
    """Move an end by one, unless a constant does that itself."""
    if isinstance(end, ast.UnaryOp):
        end = end.operand
    if not isinstance(end, ast.Constant | ast.Starred):
        yield text.put(end, f"{text.atom(end)} + 1", "bound")
        yield text.put(end, f"{text.atom(end)} - 1", "bound")


def _defaults(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Drop what a parameter is if nobody says it; where others follow it, no Python comes out."""
    if isinstance(node, ast.arguments):
        placed = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
        pairs = [*zip(placed, node.defaults, strict=True)]
        pairs += [pair for pair in zip(node.kwonlyargs, node.kw_defaults, strict=True) if pair[1]]
        for parameter, default in pairs:
            yield text.cut(parameter, default, "default")


def _dropped(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Drop statements, decorators and what a block stands under, wherever a program is left."""
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
