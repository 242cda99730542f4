"""An interpreter of checked programs over their syntax tree: it counts steps, and bounds sizes.

Nothing is compiled or run: each node is looked at here. Whatever grows pays in steps for what it
makes, so that steps bound time and memory alike.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from grader.questions.arithmetic import MOST_BITS
from grader.questions.library import LIMITED, Library, Meter, Stopped

Scope = dict[str, Any]
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}
_ORDERS: dict[type[ast.cmpop], Callable[[int], bool]] = {
    ast.Lt: lambda sign: sign < 0,
    ast.LtE: lambda sign: sign <= 0,
    ast.Gt: lambda sign: sign > 0,
    ast.GtE: lambda sign: sign >= 0,
}


class _Return(Exception):
    """Carries what a function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Break(Exception):
    """Ends a loop."""


class _Continue(Exception):
    """Ends one turn of a loop."""


def run(function: ast.FunctionDef, arguments: Sequence[Any], meter: Meter | None = None) -> Any:
    """Return what a checked function gives for some arguments; raises ``Stopped`` with the why."""
    machine = _Machine(meter or Meter())
    names = [argument.arg for argument in function.args.args]
    try:
        machine.block(function.body, dict(zip(names, arguments, strict=True)))
    except _Return as done:
        return done.value
    except (_Break, _Continue):
        raise Stopped("leaves a loop where there is none") from None
    except RecursionError:
        raise Stopped("nests lists too deeply") from None
    except ZeroDivisionError:
        raise Stopped("divides by zero") from None
    except LIMITED as error:
        raise Stopped(f"raises {type(error).__name__}") from None
    return None


class _Machine:
    """Walks a tree."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._library = Library(meter)

    def block(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        """Go through statements."""
        for statement in body:
            self._meter.pay()
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Return(value=value):
                raise _Return(None if value is None else self._value(value, scope))
            case ast.Assign(targets=targets, value=value):
                found = self._value(value, scope)
                for target in targets:
                    self._bind(target, found, scope)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._bind(target, self._value(value, scope), scope)
            case ast.AugAssign(target=target, op=op, value=value):
                before = self._value(target, scope)
                added = self._value(value, scope)
                self._bind(target, self._combine(op, before, added), scope)
            case ast.If(test=test, body=body, orelse=orelse):
                self.block(body if self._value(test, scope) else orelse, scope)
            case ast.While(test=test, body=body):
                while self._value(test, scope):
                    if not self._turn(body, scope):
                        break
            case ast.For(target=target, iter=source, body=body):
                for item in self._items(source, scope):
                    self._bind(target, item, scope)
                    if not self._turn(body, scope):
                        break
            case ast.Expr(value=value):
                self._value(value, scope)
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case _:
                pass

    def _turn(self, body: list[ast.stmt], scope: Scope) -> bool:
        """Go through a loop's body once; returns whether the loop goes on."""
        try:
            self.block(body, scope)
        except _Continue:
            return True
        except _Break:
            return False
        return True

    def _items(self, source: ast.expr, scope: Scope) -> Iterator[Any]:
        """Go through what can be gone through; each item is a step."""
        for item in self._library.items(self._value(source, scope)):
            self._meter.pay()
            yield item

    def _bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = value
            case ast.Subscript(value=place, slice=index):
                held = self._value(place, scope)
                if not isinstance(held, list):
                    raise Stopped("assigns an item of what is no list")
                held[self._value(index, scope)] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = [*self._library.items(value)]
                if len(values) != len(parts):
                    raise Stopped(f"assigns {len(values)} values to {len(parts)} names")
                for part, item in zip(parts, values, strict=True):
                    self._bind(part, item, scope)
            case _:
                raise Stopped("assigns to what is no name")

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        self._meter.pay()
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                if name not in scope:
                    raise Stopped(f"uses {name[:40]} before it has a value")
                return scope[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._combine(op, self._value(left, scope), self._value(right, scope))
            case ast.UnaryOp(op=op, operand=operand):
                return _unary(op, self._value(operand, scope))
            case ast.BoolOp(op=op, values=values):
                found: Any = None
                for value in values:
                    found = self._value(value, scope)
                    if bool(found) is isinstance(op, ast.Or):
                        break
                return found
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compare(self._value(left, scope), ops, others, scope)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._value(body if self._value(test, scope) else orelse, scope)
            case ast.List(elts=parts):
                return [self._value(part, scope) for part in parts]
            case ast.Tuple(elts=parts):
                return tuple(self._value(part, scope) for part in parts)
            case ast.Subscript(value=held, slice=index):
                return self._item(self._value(held, scope), index, scope)
            case ast.ListComp(elt=part, generators=loops):
                return [*self._comprehended(part, loops, dict(scope))]
            case ast.GeneratorExp(elt=part, generators=loops):
                return [*self._comprehended(part, loops, dict(scope))]
            case ast.Call():
                return self._call(node, scope)
            case _:
                raise Stopped("holds what is not known here")

    def _comprehended(
        self, part: ast.expr, loops: list[ast.comprehension], scope: Scope
    ) -> Iterator[Any]:
        first, *others = loops
        for item in self._items(first.iter, scope):
            self._bind(first.target, item, scope)
            if all(self._value(test, scope) for test in first.ifs):
                if others:
                    yield from self._comprehended(part, others, scope)
                else:
                    yield self._value(part, scope)

    def _item(self, held: Any, index: ast.expr, scope: Scope) -> Any:
        if not isinstance(held, list | tuple | range):
            raise Stopped("takes an item of what is no list")
        if not isinstance(index, ast.Slice):
            return held[self._value(index, scope)]
        ends = (index.lower, index.upper, index.step)
        values = (None if end is None else self._value(end, scope) for end in ends)
        found = cast(Sequence[Any], held[slice(*values)])
        self._meter.pay(len(found))
        return found

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        named = {str(item.arg): self._value(item.value, scope) for item in node.keywords}
        match node.func:
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if "math" not in scope:
                held: list[Any] = []
            case ast.Attribute(value=value, attr=name):
                found = self._value(value, scope)
                values = [self._value(item, scope) for item in node.args]
                return self._library.method(found, name, values, named)
            case ast.Name(id=name):
                held = []
            case _:
                raise Stopped("calls what is not known here")
        held += [self._value(item, scope) for item in node.args]
        return self._library.call(name, held, named)

    def _combine(self, op: ast.operator, left: Any, right: Any) -> Any:
        lists = [side for side in (left, right) if isinstance(side, list | tuple)]
        if lists:
            return self._library.joined(type(op), left, right)
        for side in (left, right):
            if not isinstance(side, int | float):
                raise Stopped("computes with what is no number")
        if isinstance(op, ast.Pow):
            return _power(left, right)
        if isinstance(op, ast.LShift):
            if not (isinstance(right, int) and 0 <= right <= MOST_BITS):
                raise Stopped("comes to a number that is too large")
            return _bounded(operator.lshift(left, right))
        return _bounded(_ARITHMETIC[type(op)](left, right))

    def _compare(
        self, left: Any, ops: Sequence[ast.cmpop], others: Sequence[ast.expr], scope: Scope
    ) -> bool:
        for op, other in zip(ops, others, strict=True):
            right = self._value(other, scope)
            if not self._holds(op, left, right):
                return False
            left = right
        return True

    def _holds(self, op: ast.cmpop, left: Any, right: Any) -> bool:
        match op:
            case ast.Eq() | ast.NotEq():
                return self._library.equal(left, right) is isinstance(op, ast.Eq)
            case ast.In() | ast.NotIn():
                found = any(self._library.equal(left, item) for item in self._library.items(right))
                return found is isinstance(op, ast.In)
            case _:
                if any(isinstance(side, float) and math.isnan(side) for side in (left, right)):
                    return False
                return _ORDERS[type(op)](self._library.compare(left, right))


def _unary(op: ast.unaryop, value: Any) -> Any:
    match op, value:
        case ast.Not(), _:
            return not value
        case ast.USub(), int() | float():
            return -value
        case ast.UAdd(), int() | float():
            return +value
        case ast.Invert(), int():
            return ~value
        case _:
            raise Stopped("computes with what is no number")


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if abs(base) > 1 and base.bit_length() * abs(exponent) > MOST_BITS:
            raise Stopped("comes to a number that is too large")
    found = base**exponent
    if isinstance(found, complex):
        raise Stopped("comes to a number that is not real")
    return _bounded(found)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise Stopped("comes to a number that is too large")
    return value
