"""Stretches of a program's text by the nodes of its syntax tree, which count columns in bytes."""

import ast
import re
from dataclasses import dataclass

_ATOMS = (
    *(ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set),
    *(ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
)


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes from ``start`` up to ``end`` that give way; ``kind`` says what sort of change it is."""

    start: int
    end: int
    new: str
    kind: str

    def apply(self, data: bytes, offset: int = 0) -> bytes:
        """Make the change in a text that begins ``offset`` bytes further on."""
        start, end = self.start - offset, self.end - offset
        return b"".join((data[:start], self.new.encode(), data[end:]))


class Text:
    """A program's bytes, and changes of them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.AST) -> int:
        """Return the place of a node's first byte."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return self._starts[line - 1] + column

    def end(self, node: ast.AST) -> int:
        """Return the place behind a node's last byte."""
        line, column = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
        return self._starts[line - 1] + column

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Return the places where the lines of a stretch begin and end."""
        first = self.data.rfind(b"\n", 0, start) + 1
        last = self.data.find(b"\n", end)
        return first, len(self.data) if last < 0 else last

    def of(self, node: ast.AST) -> str:
        """Return a node's text, without brackets that stand around it."""
        return self.data[self.start(node) : self.end(node)].decode()

    def atom(self, node: ast.AST) -> str:
        """Return a node's text as it may stand beside any operator."""
        said = self.of(node)
        closed = isinstance(node, _ATOMS) or (isinstance(node, ast.Tuple) and said[:1] == "(")
        return said if closed else f"({said})"

    def put(self, node: ast.AST, new: str, kind: str) -> Edit:
        """Put a text in the place of a node."""
        return Edit(self.start(node), self.end(node), new, kind)

    def between(self, one: ast.AST, other: ast.AST, old: str, new: str, kind: str) -> Edit:
        """Put a text in the place of the sign between two nodes, whatever brackets stand there."""
        start, end = self.end(one), self.start(other)
        gap = self.data[start:end].decode()
        return Edit(start, end, re.sub(old, lambda _: new, gap, count=1), kind)

    def cut(self, one: ast.AST, other: ast.AST, kind: str) -> Edit:
        """Drop what follows a node, up to the end of another."""
        return Edit(self.end(one), self.end(other), "", kind)

    def head(self, node: ast.AST, last: ast.AST, new: str, kind: str) -> Edit:
        """Put a text in the place of a node's beginning, up to the end of one inside."""
        return Edit(self.start(node), self.end(last), new, kind)

    def put_line(self, node: ast.AST, new: str, kind: str) -> Edit:
        """Put a text in the place of the lines that a node stands on."""
        return Edit(*self.lines(self.start(node), self.end(node)), new, kind)
