"""What of a function survives when every name in it is changed."""

import ast
import hashlib
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from grader.reading.syntax import Function

LEAST = 40  # nodes of a function's tree; smaller ones resemble each other by chance


@dataclass(frozen=True, slots=True)
class Shape:
    """A function by its first and last line, its name, and a digest of all but the names in it."""

    line: int
    last: int
    name: str
    digest: str


def shapes(content: bytes, known: dict[bytes, str] | None = None) -> Iterator[Shape]:
    """Give the shape of each function of some size; none where there is no Python.

    ``known`` is added to: the digests of functions by their lines, which many files may share.
    """
    known = {} if known is None else known
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old escapes, in text of others
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = content.splitlines()
    for node in _functions(tree):
        last = node.end_lineno or node.lineno
        text = b"\n".join(lines[node.lineno - 1 : last])
        if text not in known:
            known[text] = _digest(node)
        if known[text]:
            yield Shape(node.lineno, last, node.name, known[text])


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give all functions: they are statements, and only statements hold others."""
    left: deque[ast.AST] = deque([tree])
    while left:
        node = left.popleft()
        if isinstance(node, Function):
            yield node
        for part in ("body", "handlers", "cases", "orelse", "finalbody"):
            left.extend(getattr(node, part, ()))


def _digest(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    body = function.body[ast.get_docstring(function, clean=False) is not None :]
    nodes = [inner for statement in body for inner in ast.walk(statement)]
    if len(nodes) < LEAST:
        return ""
    names: dict[str, int] = {}
    told = [_told(node, names) for node in nodes]
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()


def _told(node: ast.AST, names: dict[str, int]) -> str:
    """Say what a node is: names by the order in which they come, all else as it is."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return f"{type(node).__name__} {names.setdefault(name, len(names))}"
        case ast.Attribute(attr=name) | ast.keyword(arg=name):
            return f"{type(node).__name__} {name}"
        case ast.Constant(value=value):
            return f"Constant {value!r}"
        case _:
            return type(node).__name__
