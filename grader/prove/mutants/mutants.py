"""The mutants of a model answer: every small change of it that is another program.

Suites are proven by mistakes that somebody imagined; mutants are those that nobody had to imagine.
Two that come to the same program are one.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.prove.mutants.drops import below_docstring
from grader.prove.mutants.mutations import edits, parts
from grader.prove.mutants.spans import Edit, Text
from grader.prove.sample import lot
from grader.reading.syntax import Function


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change; ``before`` and ``after`` are the lines that it touches, as one line."""

    definition: str  # "StaticCache.update", "" for what stands outside of all
    statement: int  # the line of the statement of the file that it lies in
    line: int
    before: str
    after: str
    edit: Edit

    @property
    def key(self) -> tuple[str, str, str]:
        """What a reason names it by."""
        return self.definition, self.before, self.after


def mutants_of(source: bytes) -> Iterator[Mutant]:
    """List the mutants of a program in the order of its text."""
    text, tree = Text(source), ast.parse(source)
    for statement in below_docstring(tree):
        known = {ast.dump(statement)}
        start, end = _span(statement, text)
        for definition, node in _nodes(statement, ""):
            for edit in edits(node, text):
                meaning = _meaning(edit.apply(source[start:end], start))
                if meaning and meaning not in known:
                    known.add(meaning)
                    yield _mutant(text, definition, statement, edit)


def drawn(mutants: list[Mutant], lab: str, date: str, number: int) -> list[Mutant]:
    """Draw some of a lab's mutants by the date, in the order in which they stood."""
    lots = [
        (lot(date, lab, *mutant.key, str(place)), place) for place, mutant in enumerate(mutants)
    ]
    return [mutants[place] for place in sorted(place for _, place in sorted(lots)[:number])]


def _nodes(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node that changes are made of, with the name of the definition around it."""
    if isinstance(node, Function | ast.ClassDef):
        owner = f"{owner}.{node.name}" if owner else node.name
    yield owner, node
    for part in parts(node):
        yield from _nodes(part, owner)


def _span(statement: ast.stmt, text: Text) -> tuple[int, int]:
    """Return the lines of a statement, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    first = min(text.start(node) for node in (statement, *decorators))
    return text.lines(first, text.end(statement))


def _meaning(code: bytes) -> str:
    """Return the tree of a changed statement; nothing if it is no Python any more."""
    try:
        return "".join(ast.dump(node) for node in ast.parse(code).body)
    except (SyntaxError, ValueError):
        return ""


def _mutant(text: Text, definition: str, statement: ast.stmt, edit: Edit) -> Mutant:
    first, last = text.lines(edit.start, edit.end)
    old = text.data[first:last]
    new = edit.apply(old, first)
    line = text.data.count(b"\n", 0, edit.start) + 1
    before, after = (" ".join(part.decode().split()) for part in (old, new))
    return Mutant(definition, statement.lineno, line, before, after, edit)
