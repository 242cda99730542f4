"""The small changes that make mutants: what could stand in the place of a node of a syntax tree.

A change is one of the text, so that all else keeps its form and a line can be shown as an author
knows it. Whether Python comes out, and another program than before, is for ``mutants`` to ask. What
changes no result is left alone: annotations, docstrings, texts of errors, what only tunes the
compiler of kernels or guards its author (``strict=True``), and the order of what ``min`` compares.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from grader.prove.mutants.drops import below_docstring, drops
from grader.prove.mutants.spans import Edit, Text

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
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
BOUNDS: dict[type[ast.cmpop], str] = {ast.Lt: "- 1", ast.LtE: "+ 1", ast.Gt: "+ 1", ast.GtE: "- 1"}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
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
PAIRS = (
    *(("min", "max"), ("minimum", "maximum"), ("amin", "amax"), ("argmin", "argmax")),
    *(("any", "all"), ("floor", "ceil"), ("tril", "triu")),
    *(("zeros", "ones"), ("zeros_like", "ones_like")),
)
OTHERS = dict((*PAIRS, *((new, old) for old, new in PAIRS)))
DTYPES = {"float64": "float32", "float32": "float16", "bfloat16": "float16", "int64": "int32"}
RANGES = ("range", "static_range")
IDLE = ("num_warps", "num_stages", "num_ctas", "maxnreg", "strict", "frozen", "slots")
SYMMETRIC = ("min", "max", "minimum", "maximum", "transpose", "swapaxes")


def edits(node: ast.AST, text: Text) -> Iterator[Edit]:
    """Yield the changes of one node."""
    for kind in (_comparisons, _operators, _unary, _tests, _calls, _names, _constants, _bounds):
        yield from kind(node, text)
    yield from drops(node, text)


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
        case ast.keyword(arg=name) if name in IDLE:
            pass
        case _:
            yield from ast.iter_child_nodes(node)


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
        if node.keywords[place - len(node.args)].arg not in IDLE:
            left = [text.of(item) for item in (*given[:place], *given[place + 1 :])]
            yield text.put(node, f"{text.atom(node.func)}({', '.join(left)})", "keyword")
    if text.of(node.func).rpartition(".")[2] not in SYMMETRIC:
        yield from _swaps(node, text)
    yield from _casts(node, text)


def _swaps(node: ast.Call, text: Text) -> Iterator[Edit]:
    given = [*node.args, *node.keywords]
    for place, pair in enumerate(pairwise(node.args)):
        if not any(isinstance(item, ast.Starred) for item in pair):
            said = [text.of(item) for item in given]
            said[place : place + 2] = said[place + 1], said[place]
            yield text.put(node, f"{text.atom(node.func)}({', '.join(said)})", "swap")


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
    number = end.operand if isinstance(end, ast.UnaryOp) else end
    if not isinstance(number, ast.Constant | ast.Starred):
        yield text.put(end, f"{text.atom(end)} + 1", "bound")
        yield text.put(end, f"{text.atom(end)} - 1", "bound")
