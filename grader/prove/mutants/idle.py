"""Stretches of a model answer that run nowhere here, such as kernels for GPUs of one kind.

Where every test passes with an error in a stretch's place, each mutant of it lives, and to grade
them one by one says no more.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.prove.mutants.mutants import Mutant
from grader.prove.mutants.spans import Edit, Text
from grader.reading.syntax import Function

_EMPTIED = 'raise RuntimeError("this was taken out")'


@dataclass(frozen=True, slots=True)
class Stretch:
    """A function, those inside of it included, or a block of one from some statement on."""

    name: str
    line: int
    start: int  # of its first line, in bytes
    edit: Edit  # takes it out, up to its end

    def holds(self, mutant: Mutant) -> bool:
        """Tell whether a mutant changes this stretch alone."""
        return self.start <= mutant.edit.start and mutant.edit.end <= self.edit.end


def stretches(source: bytes) -> list[Stretch]:
    """List stretches, each behind those that it lies in."""
    return [*_functions(ast.parse(source), Text(source))]


def _functions(node: ast.AST, text: Text) -> Iterator[Stretch]:
    if not isinstance(node, Function):
        for part in ast.iter_child_nodes(node):
            yield from _functions(part, text)
        return
    edit = Edit(text.start(node.body[0]), text.end(node.body[-1]), _EMPTIED, "body")
    yield Stretch(node.name, node.lineno, _line(node, text), edit)
    yield from _blocks(node, node.name, text)


def _blocks(node: ast.AST, name: str, text: Text) -> Iterator[Stretch]:
    """Yield what each block below a node is from each statement on: who skips one skips the rest.

    What begins a function is the function itself.
    """
    for field, block in ast.iter_fields(node):
        parts = block if isinstance(block, list) else []
        for place, part in enumerate(parts):
            if not isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
                continue
            if isinstance(part, ast.stmt) and not (isinstance(node, Function) and place == 0):
                edit = Edit(_first(part, text), text.end(parts[-1]), _EMPTIED, field)
                rest, line = f"{name} from line {part.lineno} on", part.lineno
                yield Stretch(rest, line, _line(part, text), edit)
            yield from _blocks(part, name, text)


def _first(node: ast.stmt, text: Text) -> int:
    """Return where a statement begins, with the @ of its first decorator if it has one."""
    if isinstance(node, Function | ast.ClassDef) and node.decorator_list:
        return text.data.rindex(b"@", 0, text.start(node.decorator_list[0]))
    return text.start(node)


def _line(node: ast.stmt, text: Text) -> int:
    """Return where the line of a statement begins, as far as that line is its own."""
    start = _first(node, text)
    line, _ = text.lines(start, start)
    return start if text.data[line:start].strip() else line
