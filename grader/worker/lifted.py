"""Kernels out of a submission's text: what of a file Triton's compiler would take, and no more.

A function under ``triton.jit`` is found by the line on which it begins. Its text must be made of
what kernels are made of (``kernel_syntax``); it is defined under Triton's interpreter among the
names that it uses and nothing else. Nothing else of the file runs.
"""

import __future__

import ast
import builtins
import json
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from grader.worker import kernel_names
from grader.worker.kernel_syntax import BUILTINS, Unliftable, check, functions, paths


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    return None


SAFE: dict[str, Any] = {name: getattr(builtins, name) for name in BUILTINS}
SAFE["print"] = _nothing  # a text would hold numbers


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel that is defined, once for what its names stand for."""

    kernel: Any


class Lifted:
    """The kernels of one file; each is defined once for what its names stand for."""

    def __init__(self, file: str, text: str, decode: Callable[[Any], Any]) -> None:
        """``file`` is what frames name it by; ``decode`` makes a value of what was told of it."""
        self._file = file
        self._decode = decode
        tree = ast.parse(text)
        self._functions = {line: _bare(function) for line, function in functions(tree).items()}
        self._flags = __future__.annotations.compiler_flag if _has_future(tree) else 0
        self._made: dict[str, Kernel] = {}
        self._lifting: set[int] = set()  # lines
        # Triton's interpreter looks for the text of what it runs.
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file

    def kernel(self, line: int, names: dict[str, Any]) -> Any:
        """Return the kernel that begins on a line, to be launched; ``names`` as they were told.

        Raises Unliftable.
        """
        return self._lift(line, names).kernel

    def _lift(self, line: int, names: dict[str, Any]) -> Kernel:
        function = self._functions.get(line)
        if function is None:
            raise Unliftable("a kernel whose text is not in the file that was handed in", line)
        if line in self._lifting:
            raise Unliftable(f"{function.name} calls itself", line)
        self._lifting.add(line)
        try:
            return self._known(line, function, names)
        finally:
            self._lifting.discard(line)

    def _known(self, line: int, function: ast.FunctionDef, names: dict[str, Any]) -> Kernel:
        used = {name: names[name] for name in sorted(_names(function)) if name in names}
        told = {name: self._value(value, names) for name, value in used.items()}
        parts = {name: id(v) if isinstance(v, Kernel) else used[name] for name, v in told.items()}
        key = json.dumps([line, parts], sort_keys=True)
        if key not in self._made:
            values = {n: v.kernel if isinstance(v, Kernel) else v for n, v in told.items()}
            self._made[key] = Kernel(self._define(function, values))
        return self._made[key]

    def _value(self, told: Any, names: dict[str, Any]) -> Any:
        """Return what a name stands for; another kernel of the file as a Kernel."""
        match told:
            case {"k": int(line)}:
                return self._lift(line, names)
            case _:
                return self._decode(told)

    def _define(self, function: ast.FunctionDef, told: dict[str, Any]) -> Any:
        """Define a function as it stands, and put it under ``jit``."""
        modules = {name: v for name, v in told.items() if isinstance(v, ModuleType)}
        check(function, told, modules)
        for path, line in paths(function, modules):
            try:
                kernel_names.find(path[1:], modules[path[0]])
            except LookupError as error:
                raise Unliftable(str(error), line) from None
        space = {**told, "__builtins__": SAFE, "__name__": "submission"}
        space["triton_language"] = sys.modules["triton.language"]  # the interpreter asks for it
        tree = ast.Module([function], [])
        exec(compile(tree, self._file, "exec", self._flags, dont_inherit=True), space)
        jit: Any = sys.modules["triton"].jit
        return jit(space[function.name])


def _has_future(tree: ast.Module) -> bool:
    """Tell whether a file leaves its annotations unevaluated."""
    froms = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return any(n.module == "__future__" and "annotations" in str(ast.dump(n)) for n in froms)


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without its decorators."""
    bare = ast.FunctionDef(**dict(ast.iter_fields(function)))
    bare.decorator_list = []
    return ast.copy_location(bare, function)


def _names(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function reads, in its defaults and annotations too."""
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
