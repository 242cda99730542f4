"""Exact arithmetic over a syntax tree, within limits: nothing a student wrote is ever run.

Values are fractions. A number of more than ``MOST_BITS`` bits is refused before it is computed, so
that no expression, however short, takes time or memory.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction

MOST_TEXT = 4000  # characters of an expression or a program
MOST_BITS = 4096  # of a numerator or denominator
MOST_EXPONENT = 4096
DEPTH = 60  # of a tree
FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "abs": lambda values: abs(values[0]),
    "min": min,
    "max": max,
    "ceil": lambda values: Fraction(math.ceil(values[0])),
    "floor": lambda values: Fraction(math.floor(values[0])),
}
_ONE = frozenset({"abs", "ceil", "floor"})  # that take one argument
_SIMPLE: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class Unreadable(Exception):
    """An answer that says nothing that can be judged; the message tells why."""


class Undefined(Exception):
    """An expression without a value at a point; the message tells why."""


def parse(text: str, mode: str = "eval") -> ast.AST:
    """Return the syntax tree of a text that a student typed; raises ``Unreadable``."""
    if len(text) > MOST_TEXT:
        raise Unreadable(f"is longer than {MOST_TEXT} characters")
    if "\0" in text:
        raise Unreadable("holds a character that is no text")
    try:
        tree = ast.parse(text, mode=mode)
    except SyntaxError as error:
        raise Unreadable(f"cannot be read as Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("is too deeply nested") from None
    check_depth(tree)
    return tree


def check_depth(tree: ast.AST) -> None:
    """Refuse a tree that a walk down could not come back from."""
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEPTH:
            raise Unreadable("is too deeply nested")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def check_names(tree: ast.AST, names: tuple[str, ...]) -> None:
    """Refuse an expression with anything in it but arithmetic of numbers and these names."""
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=ast.BitXor()):
                raise Unreadable("^ is no power in Python: write **")
            case ast.Constant(value=bool()):
                raise Unreadable(f"{node.value} is no number")
            case ast.Constant(value=int() | float()):
                literal(node)
            case ast.Name(id=name) if id(node) not in functions and name not in names:
                known = f" (its names: {', '.join(names)})" if names else ""
                raise Unreadable(f"{name[:40]} is unknown{known}")
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                if not args or (name in _ONE and len(args) != 1):
                    raise Unreadable(f"{name} does not take {len(args)} arguments")
            case ast.UnaryOp(op=ast.UAdd() | ast.USub()) | ast.Name() | ast.Expression():
                pass
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
                pass
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod() | ast.Pow()):
                pass
            case ast.operator() | ast.unaryop() | ast.expr_context():
                pass
            case _:
                raise Unreadable("holds more than arithmetic")


def literal(node: ast.Constant) -> Fraction:
    """Return the exact value of a number that is written out."""
    match node.value:
        case float() as value if math.isfinite(value):
            return bounded(Fraction(repr(value)))
        case int() as value:
            return bounded(value)
        case _:
            raise Unreadable("holds a number that is too large")


def bounded(value: Fraction | int) -> Fraction:
    """Return a value; raises ``Undefined`` for a number that is too large."""
    fraction = Fraction(value)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > MOST_BITS:
        raise Undefined("comes to a number that is too large")
    return fraction


def evaluate(node: ast.AST, names: Mapping[str, Fraction]) -> Fraction:
    """Return the value of an expression that ``check_names`` has let through."""
    match node:
        case ast.Expression(body=body):
            return evaluate(body, names)
        case ast.Constant():
            return literal(node)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = evaluate(operand, names)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _combine(op, evaluate(left, names), evaluate(right, names))
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name]([evaluate(item, names) for item in args])
        case _:
            raise Unreadable("holds more than arithmetic")


def _combine(op: ast.operator, left: Fraction, right: Fraction) -> Fraction:
    if isinstance(op, ast.Pow):
        return power(left, right)
    simple = _SIMPLE.get(type(op))
    if simple is not None:
        return bounded(simple(left, right))
    if not right:
        raise Undefined("divides by zero")
    if isinstance(op, ast.Div):
        return bounded(left / right)
    return bounded(left // right if isinstance(op, ast.FloorDiv) else left % right)


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return a whole power, if it is not too large."""
    if exponent.denominator != 1:
        raise Undefined("has a power that is no whole number")
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) > MOST_EXPONENT or (size > 1 and size * abs(exponent) > MOST_BITS):
        raise Undefined("comes to a number that is too large")
    if not base and exponent < 0:
        raise Undefined("divides by zero")
    return bounded(base**exponent.numerator)
