"""What programs may call, and what of theirs costs more than a step: lists, and comparing them."""

import ast
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

STEPS = 100_000  # of one call; an honest answer takes some hundred
MOST_ITEMS = 10_000  # of one list
DEPTH = 20  # of lists in lists
MOST_ROUNDED = 20  # digits that round() is asked for
LIMITED = (ValueError, TypeError, IndexError, OverflowError, AttributeError, KeyError)


class Stopped(Exception):
    """A program that came to no result; the message tells why."""


@dataclass(slots=True)
class Meter:
    """Counts steps down."""

    left: int = STEPS

    def pay(self, steps: int = 1) -> None:
        """Take steps; raises ``Stopped`` where there are none left."""
        self.left -= steps
        if self.left < 0:
            raise Stopped(f"takes more than {STEPS} steps")


class Library:
    """The functions and methods of programs, each paid for by the size of what it looks at."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def items(self, value: Any) -> Iterator[Any]:
        """Go through a list, a tuple or a range."""
        if not isinstance(value, list | tuple | range):
            raise Stopped("goes through what is no list")
        for item in cast(Sequence[Any], value):
            self._meter.pay()
            yield item

    def listed(self, value: Any) -> list[Any]:
        """Return the items as a new list, if they are not too many."""
        if isinstance(value, list | tuple | range):
            self._size(len(cast(Sequence[Any], value)))
        return [*self.items(value)]

    def joined(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        """Put lists together, or repeat one."""
        if op is ast.Add and type(left) is type(right):
            self._size(len(left) + len(right))
            return left + right
        if op is ast.Mult:
            held, times = (left, right) if isinstance(left, list | tuple) else (right, left)
            if isinstance(times, int):
                self._size(len(held) * max(times, 0))
                return held * times
        raise Stopped("computes with what is no number")

    def equal(self, left: Any, right: Any) -> bool:
        """Tell whether two values are the same, item by item."""
        if isinstance(left, list | tuple) and type(left) is type(right):
            return len(left) == len(right) and self.compare(left, right) == 0
        if isinstance(left, list | tuple | range) or isinstance(right, list | tuple | range):
            return False
        return left == right

    def compare(self, left: Any, right: Any, depth: int = 0) -> int:
        """Order two values: -1, 0 or 1. Lists are walked here, so that this costs steps."""
        self._meter.pay()
        if depth > DEPTH:
            raise Stopped("nests lists too deeply")
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            ours, theirs = cast(Sequence[Any], left), cast(Sequence[Any], right)
            for here, there in zip(ours, theirs, strict=False):
                if sign := self.compare(here, there, depth + 1):
                    return sign
            return (len(ours) > len(theirs)) - (len(ours) < len(theirs))
        for side in (left, right):
            if side is not None and not isinstance(side, int | float):
                raise Stopped("compares a list with a number")
        if left is None or right is None:
            return 0 if left is right else -1
        return (left > right) - (left < right)

    def call(self, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """Call one of the functions that programs know."""
        self._meter.pay()
        match name, values:
            case "len", [list() | tuple() | range() as held]:
                return len(held)
            case "range", _:
                return range(*values)
            case "abs" | "bool" | "float" | "int" | "ceil" | "floor", [value]:
                return self._converted(name, value)
            case "round", [int() | float() as value, *digits]:
                if digits and not (isinstance(digits[0], int) and abs(digits[0]) <= MOST_ROUNDED):
                    raise Stopped("rounds to too many digits")
                return round(value, *digits)
            case "sum", [held, *start]:
                return self._sum(held, start[0] if start else named.get("start", 0))
            case "min" | "max", _:
                return self._best(name, values, named)
            case "any" | "all", [held]:
                return {"any": any, "all": all}[name](self.items(held))
            case "list" | "tuple", []:
                return [] if name == "list" else ()
            case "list" | "tuple" | "sorted" | "reversed", [held]:
                return self._rearranged(name, self.listed(held), named)
            case "enumerate", [held, *start]:
                first = start[0] if start else named.get("start", 0)
                return [*enumerate(self.listed(held), first)]
            case "zip", _:
                return [*zip(*map(self.listed, values), strict=bool(named.get("strict")))]
            case _:
                raise Stopped(f"calls {name}() with what it does not take")

    def method(self, held: Any, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        """Call a method of a list."""
        if not isinstance(held, list):
            raise Stopped(f"calls {name}() of what is no list")
        held = cast(list[Any], held)
        self._meter.pay(len(held) if name not in ("append", "pop") else 1)
        match name, values:
            case "append", [value]:
                self._size(len(held) + 1, 1)
                held.append(value)
            case "extend", [more]:
                added = self.listed(more)
                self._size(len(held) + len(added))
                held.extend(added)
            case "insert", [int() as place, value]:
                self._size(len(held) + 1)
                held.insert(place, value)
            case "pop", [] | [int()]:
                return held.pop(*values)
            case "copy", []:
                return held.copy()
            case "reverse", []:
                held.reverse()
            case "sort", []:
                held[:] = self._rearranged("sorted", held.copy(), named)
            case "count", [value]:
                return sum(self.equal(item, value) for item in held)
            case _:
                raise Stopped(f"calls {name}() with what it does not take")
        return None

    def _size(self, items: int, cost: int | None = None) -> None:
        if items > MOST_ITEMS:
            raise Stopped(f"makes a list of more than {MOST_ITEMS} items")
        self._meter.pay(items if cost is None else cost)

    def _converted(self, name: str, value: Any) -> Any:
        if name == "bool":
            return bool(value)
        if not isinstance(value, int | float):
            raise Stopped("computes with what is no number")
        ways = {"abs": abs, "float": float, "int": int, "ceil": math.ceil, "floor": math.floor}
        return ways[name](value)

    def _sum(self, held: Any, start: Any) -> Any:
        total = start
        for item in self.items(held):
            if not isinstance(item, int | float) or not isinstance(total, int | float):
                raise Stopped("computes with what is no number")
            total += item
        return total

    def _best(self, name: str, values: list[Any], named: dict[str, Any]) -> Any:
        items = self.listed(values[0]) if len(values) == 1 else values
        if not items:
            if "default" in named:
                return named["default"]
            raise Stopped(f"asks for the {name} of nothing")
        sign = 1 if name == "max" else -1
        best = items[0]
        for item in items[1:]:
            if self.compare(item, best) == sign:
                best = item
        return best

    def _rearranged(self, name: str, items: list[Any], named: dict[str, Any]) -> Any:
        if name == "tuple":
            return tuple(items)
        if name == "reversed":
            return items[::-1]
        if name == "sorted":
            down = bool(named.get("reverse"))
            return sorted(items, key=functools.cmp_to_key(self.compare), reverse=down)
        return items
