"""The sentences that a stub gives its reader: what no student wrote.

In a student's clone the stub is the student's own file. What was surely given there is the head and
the docstring of a function that still says ``NotImplementedError``.
"""

import ast

from grader.reading.pseudocode.pasted import python_remarks

MOST_STUB = 200_000  # characters; ours have a twentieth of it


def stub_text(source: str) -> str:
    """Give docstrings and the comments in signatures; nothing of what cannot be parsed."""
    if len(source) > MOST_STUB:
        return ""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    lines = source.split("\n")
    found: list[str] = []
    for node in tree.body:
        functions = [node, *node.body] if isinstance(node, ast.ClassDef) else [node]
        given = [
            entry for entry in functions if isinstance(entry, ast.FunctionDef) and _raises(entry)
        ]
        if given and isinstance(node, ast.ClassDef):
            found.append(ast.get_docstring(node) or "")
        for function in given:
            head = lines[function.lineno - 1 : function.body[0].lineno - 1]
            found += [python_remarks("\n".join(head)), ast.get_docstring(function) or ""]
    return "\n".join(found)


def _raises(function: ast.FunctionDef) -> bool:
    match function.body[-1]:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
        case _:
            return False
