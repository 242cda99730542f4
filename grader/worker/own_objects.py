"""Where our own objects lie in this process, for the judge, who looks at them from outside.

It is asked for before the submission is loaded. What is told are addresses; the judge reads what
lies there itself (``sandbox/tripwire``), then and later. Ours are all functions, classes and
module globals of ``grader.worker`` and ``grader.wire`` that are imported by then, and what they
reach by name in libraries. Objects that change while honest code runs are not told: what our own
code assigns outside of ``__init__``, and anything that is not code, a class or a module's global.
"""

import builtins
import ctypes
import dis
import functools
import gc
import hashlib
import json
import sys
from collections.abc import Iterator
from types import (
    CellType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import torch

from grader.wire.own_objects import Mark, OwnObject

OURS = ("grader.worker", "grader.wire")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
ASSIGNS = ("STORE_ATTR", "DELETE_ATTR")
WORD_BYTES = 8
# Of what probes lead elsewhere: the classes whose methods they replace while they run.
TRITON = {
    "triton.runtime.jit": ("JITFunction",),
    "triton.runtime.autotuner": ("Autotuner",),
    "triton.runtime.interpreter": ("GridExecutor", "InterpretedFunction", "InterpreterBuilder"),
}


class OwnObjects:
    """Collects own objects, each once."""

    def __init__(self) -> None:
        self.found: list[OwnObject] = []
        self._seen: dict[int, Any] = {}  # kept, so that no address is used twice
        self._foreign: dict[int, tuple[str, dict[int, str]]] = {}  # dict: label, its names
        self._label = ""
        self._codes: list[tuple[CodeType, dict[str, Any]]] = []  # ours, with their globals

    def of_modules(self) -> list[OwnObject]:
        """Return where all modules of ours lie, and what they reach in libraries."""
        for name, module in sorted(sys.modules.items()):
            if ".".join(name.split(".")[:2]) in OURS:
                self._module(name, module)
        for name, classes in TRITON.items():
            for kind in classes:
                self._library(getattr(sys.modules.get(name), kind, None), f"{name}.{kind}")
        for code, names in [*self._codes]:
            self._reached(code, names)
        for address, (label, names) in self._foreign.items():
            self.found.append((Mark.NAMESPACE, address, 0, label, [*names]))
        return self.found

    def assigned(self) -> frozenset[str]:
        """Return the attributes that our code assigns, but for those of what is being made."""
        return frozenset(name for code, _ in self._codes for name in _assigned(code))

    def of_instances(self, serving: tuple[Any, ...], assigned: frozenset[str]) -> list[OwnObject]:
        """Return where the objects lie that serve the judge: what they are, and hold for good.

        They have no dictionary, in which a method of theirs could be hidden by another.
        """
        for thing in serving:
            self._instance(thing, assigned)
        return self.found

    def _new(self, thing: Any) -> bool:
        if id(thing) in self._seen:
            return False
        self._seen[id(thing)] = thing
        return True

    def _note(self, kind: Mark, address: int, size: int, label: str) -> None:
        again = label == self._label
        self._label = label
        self.found.append((kind, address, size, "" if again else label, []))

    def _module(self, name: str, module: ModuleType) -> None:
        space = vars(module)
        if hasattr(module, "__path__"):  # gets a name whenever a module in it is imported
            return
        space.setdefault("__warningregistry__", {})  # a warning would add it
        self._note(Mark.NAMESPACE, id(space), 0, name)
        for key, value in [*space.items()]:
            self._value(value, f"{name}.{key}")

    def _value(self, value: Any, label: str) -> None:
        """Follow what a namespace of ours holds, as far as it is code or a class."""
        match value:
            case FunctionType():
                self._function(value, label)
            case type() if value.__module__.startswith(OURS):
                self._class(value, label)
            case type():
                self._library(value, f"{value.__module__}.{value.__qualname__}")
            case staticmethod() | classmethod() | MethodType():
                self._value(value.__func__, label)
            case property():
                for function in (value.fget, value.fset):
                    self._value(function, label)
            case _:
                wrapped = getattr(value, "__wrapped__", None) if callable(value) else None
                if isinstance(wrapped, FunctionType):
                    self._function(wrapped, label)

    def _function(self, function: FunctionType, label: str) -> None:
        if not self._new(function):
            return
        self._note(Mark.FUNCTION, id(function), 0, label)
        self._code(function.__code__, label, function.__globals__)
        for items in (function.__defaults__, function.__closure__):
            if items:
                self._note(Mark.TUPLE, id(items), len(items), label)
        if function.__kwdefaults__:
            self._note(Mark.NAMESPACE, id(function.__kwdefaults__), 0, label)
        for cell in function.__closure__ or ():
            self._cell(cell, label)
        self._value(vars(function).get("__wrapped__"), label)

    def _cell(self, cell: CellType, label: str) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            return
        if isinstance(value, FunctionType | type):
            self._note(Mark.CELL, id(cell), 0, label)
            self._value(value, label)

    def _code(self, code: CodeType, label: str, names: dict[str, Any]) -> None:
        if not self._new(code):
            return
        self._note(Mark.CODE, id(code), len(code.co_code), label)
        for items in (code.co_consts, code.co_names):
            if items:
                self._note(Mark.TUPLE, id(items), len(items), label)
        if str(names.get("__name__")).startswith(OURS):
            self._codes.append((code, names))
        for item in code.co_consts:
            if isinstance(item, CodeType):
                self._code(item, label, names)

    def _class(self, kind: type, label: str) -> None:
        if not self._new(kind):
            return
        self._note(Mark.TYPE, id(kind), 0, label)
        self._note(Mark.NAMESPACE, id(namespace(kind)), 0, label)
        for key, value in [*vars(kind).items()]:
            self._value(value, f"{label}.{key}")
        for base in kind.__mro__[1:]:
            self._value(base, f"{base.__module__}.{base.__qualname__}")

    def _library(self, kind: Any, label: str) -> None:
        """Follow the methods of a class that is not ours."""
        if not isinstance(kind, type) or not kind.__flags__ & HEAP or not self._new(kind):
            return
        for key, value in [*vars(kind).items()]:
            if isinstance(value, FunctionType | staticmethod | classmethod):
                self._watch(namespace(kind), key, label)
                self._value(value, f"{label}.{key}")

    def _watch(self, space: dict[str, Any], name: str, label: str) -> None:
        """Watch a name of a library: it means what it meant, or is still unknown."""
        names = self._foreign.setdefault(id(space), (label, {}))[1]
        names[id(sys.intern(name))] = name
        self._seen[id(space)] = space

    def _reached(self, code: CodeType, names: dict[str, Any]) -> None:
        """Watch what a function of ours reaches by name in libraries: ``torch.Tensor.detach``."""
        owner: Any = None
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":
                owner = names.get(step.argval)
                if step.argval not in names and hasattr(builtins, step.argval):
                    self._watch(namespace(builtins), step.argval, "builtins")
            elif step.opname in ATTRIBUTES and isinstance(owner, ModuleType | type):
                owner = self._attribute(owner, step.argval)
            else:
                if step.opname in ATTRIBUTES and hasattr(torch.Tensor, step.argval):
                    self._attribute(torch.Tensor, step.argval)  # of what may be a tensor
                owner = None

    def _attribute(self, owner: Any, name: str) -> Any:
        """Watch an attribute, in each place where it would be found first, and return it.

        One that is not there yet may come honestly: some modules make theirs when they are asked.
        """
        label = getattr(owner, "__name__", "")
        own = str(label if isinstance(owner, ModuleType) else owner.__module__).startswith(OURS)
        places = owner.__mro__ if isinstance(owner, type) else (owner,)
        holders = [number for number, place in enumerate(places) if name in namespace(place)]
        if not holders:
            return None
        for place in places[: holders[0] + 1]:
            heap = not isinstance(place, type) or place.__flags__ & HEAP
            if heap and not own:
                self._watch(namespace(place), name, label)
        value = namespace(places[holders[0]])[name]
        if isinstance(value, FunctionType):
            self._function(value, f"{label}.{name}")
        return value

    def _instance(self, thing: Any, assigned: frozenset[str]) -> None:
        """Watch the class of an object of ours, and what only its ``__init__`` assigns."""
        label = type(thing).__name__
        self._note(Mark.BYTES, id(thing) + WORD_BYTES, WORD_BYTES, label)
        for kind in type(thing).__mro__:
            for name, member in vars(kind).items():
                if isinstance(member, MemberDescriptorType) and name not in assigned:
                    place = _place(thing, getattr(thing, name, None))
                    if place:
                        self._note(Mark.BYTES, place, WORD_BYTES, f"{label}.{name}")


def _place(thing: Any, value: Any) -> int:
    """Return the address of the word of an object that refers to a value, or 0."""
    count = type(thing).__basicsize__ // WORD_BYTES
    words = (ctypes.c_size_t * count).from_address(id(thing))
    found = [place for place in range(2, count) if words[place] == id(value)]
    return id(thing) + found[0] * WORD_BYTES if len(found) == 1 else 0


@functools.cache
def of_modules() -> tuple[str, str, frozenset[str]]:
    """Return the own objects of what is imported now, as JSON, what these are known by, and which
    attributes our code assigns once an object is made.

    To collect them takes 80 ms: what forks workers does it once for all of them.
    """
    own_objects = OwnObjects()
    text = json.dumps(own_objects.of_modules(), separators=(",", ":"))
    return text, hashlib.blake2b(text.encode()).hexdigest(), own_objects.assigned()


def told(known: list[str], serving: tuple[Any, ...]) -> tuple[str, str, str]:
    """Return what ours is known by, where it lies unless it is ``known``, and the worker's own."""
    text, digest, assigned = of_modules()
    own = json.dumps(OwnObjects().of_instances(serving, assigned))
    return digest, "" if digest in known else text, own


HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: those that Python code can change


def namespace(owner: type | ModuleType) -> dict[str, Any]:
    """Return the dictionary behind what a class or module has as its ``__dict__``."""
    if isinstance(owner, ModuleType):
        return vars(owner)
    return next(item for item in gc.get_referents(owner.__dict__) if isinstance(item, dict))


def _assigned(code: CodeType) -> Iterator[str]:
    """Give the attributes that code assigns, but for those of what is being made."""
    if code.co_name != "__init__":
        yield from (step.argval for step in dis.get_instructions(code) if step.opname in ASSIGNS)
