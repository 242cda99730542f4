"""Read a submission's code without running it: one JSON object of facts on standard output.

Runs in a process of its own with little memory and time (``reader.py`` starts it), since deep
nesting breaks the parser itself: standard library only. Whether a fact breaks a rule is decided
on the other side.
"""

import ast
import io
import json
import sys
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any

from grader.confined import MOST_IMPORTS, confine
from grader.labs.documents.mishaps import mishap, notebook_mishap, shown_line
from grader.reading.cursor import MODULE, UNKNOWN
from grader.reading.scopes import Resolver
from grader.reading.targets import arguments
from grader.reading.uses import Function, Walk

MOST_FACTS = 8 << 20  # characters; the judge holds them all
_DEPTH = 20_000  # of the walk: four frames for each level that the parser lets through
_KINDS = ("staticmethod", "classmethod", "property", "cached_property")


def main() -> None:
    """Read code from standard input, write facts to standard output."""
    source = sys.stdin.buffer.read()
    confine(source)
    try:
        facts = read(source)
    except (RecursionError, MemoryError):
        facts = _fault(0, "the code is nested too deeply to be read")
    text = json.dumps(facts)
    if len(text) > MOST_FACTS:
        text = json.dumps(_fault(0, "the code is too large to be read"))
    sys.stdout.write(text)


def read(source: bytes) -> dict[str, Any]:
    """Give the facts of a file; ``fault`` is why it is no Python, None if it is."""
    if found := notebook_mishap(source):  # which may be an expression of Python
        return _fault(*found)
    if name := _other_text(source):
        told = f"in the encoding {name} that it names the code is another text: save it as UTF-8"
        return _fault(1, told)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            # Some errors only show here: `return` outside a function, a name used before `global`.
            compile(source, "submission", "exec", dont_inherit=True)
    except SyntaxError as error:
        return _fault(*(mishap(source) or _told(source, error)))
    except (ValueError, SystemError) as error:  # CPython's parser may miscount its own depth
        return _fault(*(mishap(source) or (0, f"SyntaxError: {error}")))
    # Only now: the parser would take a higher limit for leave to overflow its stack.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEPTH)
    try:
        uses = _uses(tree)
        if len(uses["imports"]) > MOST_IMPORTS:
            return _fault(0, f"the code has more than {MOST_IMPORTS:,} imports")
        return {"fault": None} | uses | _measures(tree)
    finally:
        sys.setrecursionlimit(before)


def _other_text(source: bytes) -> str:
    """Return the encoding that code names, if in it the code is not what anyone else reads.

    Who compares, shows or lifts code takes it for UTF-8, and Python for what it names. Letters
    beyond ASCII are in strings and comments: those alone may differ.
    """
    try:
        name, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(name)
    except (SyntaxError, LookupError, ValueError):
        return ""  # the parser says what is wrong
    same = text.encode("ascii", "ignore") == bytes(byte for byte in source if byte < 128)
    return "" if same else name


def _told(source: bytes, error: SyntaxError) -> tuple[int, str]:
    """Return the line of a syntax error, and what is wrong there."""
    line, lines = error.lineno or 0, source.decode("utf-8-sig", errors="replace").split("\n")
    said = shown_line(lines[line - 1]) if 0 < line <= len(lines) else ""
    return line, f"{type(error).__name__}: {error.msg}" + (f", in `{said}`" if said else "")


def _fault(line: int, message: str) -> dict[str, Any]:
    return {"fault": {"line": line, "message": message}}


def _uses(tree: ast.Module) -> dict[str, Any]:
    walk = Walk(tree)
    resolver = Resolver(walk.where, walk.stars)
    imports = [[found.line, found.module, found.unit] for found in walk.imports]
    references: list[list[Any]] = []
    methods: list[list[Any]] = []
    edges = set(walk.edges)
    known = {*walk.units, UNKNOWN}
    edges |= {(UNKNOWN, unit) for unit in walk.units}
    for use in walk.uses:
        line, base = use.node.lineno, _base(use.node)
        if isinstance(base, ast.Name) and (use.unit != MODULE or use.kind == "call"):
            if resolver.home(base) is walk.module:
                edges.add((use.unit, base.id))
            elif resolver.is_unknown(base) and use.kind != "check":
                # Bound by no statement: any part of the file may have put it where it is found.
                edges.add((use.unit, UNKNOWN))
        names = resolver.names(use.node)
        references += [[line, name, use.unit, use.kind] for name in sorted(names)]
        if isinstance(use.node, ast.Call | ast.Subscript):
            # An import by a literal; what it gives is a module name without a call behind it.
            called = resolver.names(use.node.func) if isinstance(use.node, ast.Call) else ()
            if {"importlib.import_module", "builtins.__import__"} & set(called):
                imports += [[line, name, use.unit] for name in sorted(names)]
        elif use.kind == "call" and isinstance(use.node, ast.Attribute):
            # What a call of a library returned counts as unknown: it may well be a tensor.
            unknown = all("()" in name for name in names)
            if unknown and resolver.self_class(use.node.value) is None:
                methods.append([line, use.node.attr, use.unit])
    return {
        "imports": imports,
        "references": references,
        "methods": methods,
        "units": walk.units,
        "edges": sorted(edge for edge in edges if edge[1] in known),
        "members": sorted(walk.members),
    }


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _measures(tree: ast.Module) -> dict[str, Any]:
    every = list(ast.walk(tree))
    statements = sum(isinstance(node, ast.stmt) for node in every)
    texts = sum(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for node in every
    )
    functions = [node for node in every if isinstance(node, Function)]
    taken = [
        item
        for function in functions
        for item in arguments(function.args)
        if item.arg not in ("self", "cls")
    ]
    return {
        "logical_lines": statements - texts,
        "arguments": len(taken),
        "annotated": sum(item.annotation is not None for item in taken),
        "signatures": signatures(tree),
    }


def signatures(tree: ast.Module) -> dict[str, str]:
    """Give the public functions and the methods of public classes: name, order, kind, default.

    ``{"norm": "x, eps=1e-05", "Cache": "class", "Cache.update": "self, k, v"}``. A method that a
    class inherits from another class of the file counts as its own.
    """
    found: dict[str, str] = {}
    classes: dict[str, dict[str, str]] = {}
    for node in _top_level(tree.body):
        if isinstance(node, Function):
            found[node.name] = _signature(node)
            continue
        methods: dict[str, str] = {}
        for base in reversed(node.bases):
            methods |= classes.get(base.id, {}) if isinstance(base, ast.Name) else {}
        inner = [item for item in node.body if isinstance(item, Function)]
        methods |= {item.name: _signature(item) for item in inner}
        classes[node.name] = methods
        found[node.name] = "class"
        found |= {f"{node.name}.{name}": text for name, text in methods.items() if _public(name)}
    return {name: text for name, text in found.items() if not name.startswith("_")}


def _top_level(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Yield the definitions of a module, also those under ``if`` and ``try``."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _top_level(_blocks(node))


def _blocks(node: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    blocks = [*node.body]
    if isinstance(node, ast.If | ast.Try):
        blocks += node.orelse
    if isinstance(node, ast.Try):
        blocks += [item for handler in node.handlers for item in handler.body] + node.finalbody
    return blocks


def _public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _signature(node: Function) -> str:
    names = [
        item.attr if isinstance(item, ast.Attribute) else getattr(item, "id", "")
        for item in node.decorator_list
    ]
    kinds = [f"@{name} " for name in names if name in _KINDS]
    args = node.args
    bare = ast.arguments(
        posonlyargs=[ast.arg(item.arg) for item in args.posonlyargs],
        args=[ast.arg(item.arg) for item in args.args],
        vararg=args.vararg and ast.arg(args.vararg.arg),
        kwonlyargs=[ast.arg(item.arg) for item in args.kwonlyargs],
        kw_defaults=args.kw_defaults,
        kwarg=args.kwarg and ast.arg(args.kwarg.arg),
        defaults=args.defaults,
    )
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return "".join(kinds) + prefix + _unparsed(bare)


def _unparsed(arguments: ast.arguments) -> str:
    try:
        return ast.unparse(arguments)
    except ValueError:  # a default cannot be written: a number of thousands of digits, an f-string
        dots = ast.Constant(...)
        arguments.defaults = [dots for _ in arguments.defaults]
        arguments.kw_defaults = [default and dots for default in arguments.kw_defaults]
        return ast.unparse(arguments)


if __name__ == "__main__":
    main()
