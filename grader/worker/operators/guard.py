"""The rules watched at run time: a forbidden thing is noted however the code has reached it.

Whether it may run is not decided here: a hit fails the test, and the call itself goes on.
"""

import contextlib
import fnmatch
import functools
import sys
import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.worker.operators.counters import Dispatch
from grader.worker.operators.delegation import Delegation, asked_by


class ForbiddenOperators(Dispatch):
    """Notes each aten operator whose name matches, and those that ``ForbiddenFunctions`` misses."""

    def __init__(self, patterns: list[str], hits: list[str]) -> None:
        super().__init__()
        self.patterns = patterns
        self.hits = hits

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        note_operator(func, self.patterns, self.hits)
        # torch's compiler alone turns its functions' modes off, and while it looks at the code.
        off = torch._C._is_torch_function_all_disabled()  # pyright: ignore[reportPrivateUsage]
        if off and not asked_by("torch._dynamo"):
            self.hits.append("torch functions that no mode sees")
        return func(*args, **(kwargs or {}))


class ForbiddenFunctions(TorchFunctionMode):
    """Notes each call of a forbidden torch function, however it was reached."""

    def __init__(self, functions: dict[Any, str], patterns: list[str], hits: list[str]) -> None:
        super().__init__()
        self.functions = functions
        self.patterns = patterns
        self.hits = hits

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        with contextlib.suppress(TypeError):  # not every callable can be hashed
            if func in self.functions:
                self.hits.append(self.functions[func])
        note_operator(func, self.patterns, self.hits)
        return func(*args, **(kwargs or {}))


def note_operator(func: Any, patterns: list[str], hits: list[str]) -> None:
    """Append the name of an aten operator that matches one of the patterns."""
    name = str(func)
    if name.startswith("aten.") and any(
        fnmatch.fnmatchcase(name.split(".")[1], pattern) for pattern in patterns
    ):
        hits.append(name)


class Guard:
    """Watches for what the lab forbids: functions, operators, modules of a package.

    ``ours`` are processes that were there before the submission. Without ``audit`` in its
    configuration it leaves nothing behind that could slow down what is timed later.
    """

    def __init__(self, config: dict[str, Any], ours: frozenset[int]) -> None:
        self.hits: list[str] = []
        self._packages = tuple(config["packages"])
        found = ((resolve(name), name) for name in config["names"])
        known = {thing: name for thing, name in found if thing is not None}
        self._classes = {c: n for c, n in known.items() if isinstance(c, type)}
        functions = {f: n for f, n in known.items() if not isinstance(f, type)}
        self._stack = contextlib.ExitStack()
        hook = torch.nn.modules.module.register_module_forward_pre_hook(self._on_forward)
        self._stack.callback(hook.remove)
        for name in config["names"]:
            self._patch(name)
        self._aten, self._functions = config["aten"], functions
        self._enter_modes(self._stack)
        # Last in, first out: a thread that starts while the watch ends enters nothing.
        enter = functools.partial(self._enter_modes, contextlib.ExitStack())
        delegation = Delegation(self.hits.append, enter, ours, audit=config["audit"])
        self._stack.callback(delegation.stop)

    def _enter_modes(self, stack: contextlib.ExitStack) -> None:
        """Watch the thread that calls, until the stack is closed or the thread ends."""
        stack.enter_context(ForbiddenOperators(self._aten, self.hits))
        stack.enter_context(ForbiddenFunctions(self._functions, self._aten, self.hits))

    def _patch(self, name: str) -> None:
        """Replace a function written in Python, which torch's own modes may not see."""
        place, _, attribute = name.rpartition(".")
        owner, function = resolve(place), resolve(name)
        if isinstance(function, types.FunctionType) and owner is not None:

            @functools.wraps(function)
            def noting(*args: Any, **kwargs: Any) -> Any:
                self.hits.append(name)
                return function(*args, **kwargs)

            setattr(owner, attribute, noting)
            self._stack.callback(setattr, owner, attribute, function)

    def _on_forward(self, module: torch.nn.Module, _args: Any) -> None:
        kind = type(module)
        for cls, name in self._classes.items():
            if issubclass(kind, cls):
                self.hits.append(name)
        if kind.__module__.split(".")[0] in self._packages:
            self.hits.append(f"{kind.__module__}.{kind.__qualname__}")

    def stop(self) -> list[str]:
        """End the watch and return each thing seen, once."""
        self._stack.close()
        return list(dict.fromkeys(self.hits))[:20]


def resolve(dotted: str) -> Any:
    """Return what a dotted name stands for, or None; only what is already imported is looked at."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None:
            thing: Any = module
            for part in parts[cut:]:
                thing = getattr(thing, part, None)
            return thing
    return None
