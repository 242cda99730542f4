"""Kernels out of a submission's text: what of a file Triton's compiler would take, and no more.

A function under ``triton.jit`` is found by the line on which it begins. Its text must be made of
what kernels are made of (``kernel_syntax``); it is defined under Triton's interpreter among the
names that it uses and nothing else, and what the interpreter makes of it is made of that tree, not
of a text that it would look for itself. Nothing else of the file runs.
"""

import __future__

import ast
import builtins
import copy
import dis
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from torch import Tensor

from grader.worker.code import kernel_names
from grader.worker.code.kernel_syntax import BUILTINS, Unliftable, check, functions, paths, reads


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
        self._reads = {line: reads(function) for line, function in self._functions.items()}
        self._flags = __future__.annotations.compiler_flag if _has_future(tree) else 0
        self._made: dict[str, Kernel] = {}
        self._lifting: set[int] = set()  # lines
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")

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
        used = {name: names[name] for name in self._reads[line] if name in names}
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
                value = self._decode(told)
                if holds_tensor(value):
                    raise Unliftable("a name of a kernel stands for a tensor", 0)
                return value

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
        code = self._compile(tree)
        # Names of a comprehension are its own, whatever the check of the tree takes them for.
        if strange := sorted({*_globals_of(code)} - {*told, *BUILTINS}):
            raise Unliftable(f"{strange[0]}: no name that this kernel has", function.lineno)
        exec(code, space)
        made = sys.modules["triton"].jit(space[function.name])
        made.rewritten_fn[made.fn] = self._rewritten(tree, space, function.name)
        return made

    def _compile(self, tree: ast.Module) -> CodeType:
        return compile(tree, self._file, "exec", self._flags, dont_inherit=True)

    def _rewritten(self, tree: ast.Module, space: dict[str, Any], name: str) -> Any:
        """Return a function as the interpreter runs it, which compares and assigns in its way."""
        rewriter = self._interpreter.FunctionRewriter
        changed = ast.fix_missing_locations(rewriter.ast_transformer.visit(copy.deepcopy(tree)))
        code = self._compile(changed)
        for used in {*_globals_of(code)} - {*space, *BUILTINS}:
            space[used] = getattr(self._interpreter, used)  # the interpreter's own
        local: dict[str, Any] = {}
        exec(code, space, local)
        return local[name]


def _has_future(tree: ast.Module) -> bool:
    """Tell whether a file leaves its annotations unevaluated."""
    froms = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return any(n.module == "__future__" and "annotations" in str(ast.dump(n)) for n in froms)


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without its decorators."""
    bare = ast.FunctionDef(**dict(ast.iter_fields(function)))
    bare.decorator_list = []
    return ast.copy_location(bare, function)


def _globals_of(code: CodeType) -> Iterator[str]:
    """Yield the names that code looks for outside of itself, in the code inside of it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)


def assert_pointers(line: int, given: list[tuple[str, Any]], constexprs: list[str]) -> None:
    """Raise Unliftable if a kernel would get a tensor as torch has it."""
    for name, value in given:
        if holds_tensor(value, raw=name in constexprs):
            message = f"{name}: a kernel gets a tensor by itself, or in a tuple, as a pointer"
            raise Unliftable(message, line)


def holds_tensor(value: Any, *, raw: bool = True) -> bool:
    """Tell whether a tensor is in a value; unless ``raw``, where no kernel makes a pointer of it.

    As arguments, and in tuples of these, kernels get pointers; elsewhere what torch has.
    """
    if isinstance(value, tuple):
        return any(holds_tensor(item, raw=raw) for item in value)
    if isinstance(value, list | dict):
        items = value.values() if isinstance(value, dict) else value
        return any(map(holds_tensor, items))
    if type(value).__name__ == "constexpr":
        return holds_tensor(value.value)
    return raw and (isinstance(value, Tensor) or isinstance(getattr(value, "base", None), Tensor))
