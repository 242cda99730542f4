"""Functions of a model answer that run nowhere here, such as kernels for GPUs of one kind.

Where every test passes without a function's body, each mutant of that body lives, and to grade them
one by one says no more.
"""

import ast
from dataclasses import dataclass

from grader.prove.mutants.mutants import Mutant
from grader.prove.mutants.spans import Edit, Text
from grader.reading.syntax import Function

_EMPTIED = 'raise RuntimeError("this body was taken out")'


@dataclass(frozen=True, slots=True)
class Body:
    """What stands below the head of a function, those inside of it included."""

    name: str
    line: int
    edit: Edit  # takes it out

    def holds(self, mutant: Mutant) -> bool:
        """Tell whether a mutant changes this body alone."""
        return self.edit.start <= mutant.edit.start and mutant.edit.end <= self.edit.end


def bodies(source: bytes) -> list[Body]:
    """List the bodies of functions and methods, in the order of the text."""
    return [*_bodies(ast.parse(source), Text(source))]


def _bodies(node: ast.AST, text: Text) -> list[Body]:
    if isinstance(node, Function):
        edit = Edit(text.start(node.body[0]), text.end(node.body[-1]), _EMPTIED, "body")
        return [Body(node.name, node.lineno, edit)]
    return [body for part in ast.iter_child_nodes(node) for body in _bodies(part, text)]
