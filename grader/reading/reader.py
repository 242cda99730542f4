"""Start the reader of a submission's code in a limited process and believe none of its reply.

The parser is C code that deep nesting can crash, so it never runs in the judge. A reader that dies
or runs out of memory or time is the student's verdict; one that cannot start is our failure.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from grader.confined import TOO_SLOW
from grader.errors import JudgeError
from grader.limited import Resource
from grader.readers import Budget

READER = "grader.reading.syntax"
_NO_CODE = 1  # exit status of a reader that failed by an exception

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the code cannot be read; line 0 if that is not known."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class Reference:
    """A use of something imported; ``kind`` is "call", "mention", "base" or "check"."""

    line: int
    name: str
    unit: str
    kind: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the code says about itself. A *unit* is a function, class or name of the module."""

    fault: Fault | None = None
    imports: tuple[Reference, ...] = ()
    references: tuple[Reference, ...] = ()
    methods: tuple[Reference, ...] = ()  # calls of a method of something unknown
    edges: frozenset[tuple[str, str]] = frozenset()  # the first unit uses the second
    members: frozenset[str] = frozenset()  # attributes and functions that the file defines
    signatures: dict[str, str] | None = None
    logical_lines: int = 0
    arguments: int = 0
    annotated: int = 0


Reader = Callable[[bytes, Budget], Facts]


def read_code(code: bytes, budget: Budget) -> Facts:
    """Read code in a limited process; raises ``JudgeError`` if that process cannot work."""
    done = budget.run(READER, code)
    if done.over is Resource.CPU:
        return Facts(Fault(0, f"the code {TOO_SLOW}: make it shorter and plainer"))
    if done.status < 0 or done.over is Resource.OUTPUT:
        return Facts(Fault(0, "the code is too deeply nested or too large to be read"))
    if done.status == _NO_CODE and b"MemoryError" in done.told[-200:]:
        return Facts(Fault(0, "the code is too large to be read"))
    try:
        if done.status:
            raise ValueError(done.told[-400:].decode("utf-8", errors="replace"))
        return facts_of(json.loads(done.output))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise JudgeError(f"the reader of submissions failed: {error}") from None


def facts_of(data: Any) -> Facts:
    """Check what a reader said."""
    fault = data["fault"]
    if fault is not None:
        return Facts(Fault(_is(fault["line"], int), _is(fault["message"], str)[:500]))
    signatures = cast(dict[str, Any], _is(data["signatures"], dict))
    return Facts(
        imports=tuple(_reference([*row, "import"]) for row in _rows(data["imports"])),
        references=tuple(_reference(row) for row in _rows(data["references"])),
        methods=tuple(_reference([*row, "call"]) for row in _rows(data["methods"])),
        edges=frozenset((_is(a, str), _is(b, str)) for a, b in _rows(data["edges"])),
        members=frozenset(_is(name, str) for name in _rows(data["members"])),
        signatures={name: _is(text, str) for name, text in signatures.items()},
        logical_lines=_is(data["logical_lines"], int),
        arguments=_is(data["arguments"], int),
        annotated=_is(data["annotated"], int),
    )


def _rows(value: Any) -> list[Any]:
    return cast(list[Any], _is(value, list))


def _reference(row: Any) -> Reference:
    line, name, unit, kind = cast(list[Any], row)
    return Reference(_is(line, int), _is(name, str), _is(unit, str), _is(kind, str))


def _is(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value
