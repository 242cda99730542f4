"""Counters and the rule guard that run beside the submission, inside its worker.

They police cost and rules; a submission that rewrites its worker can lie to them, so what decides
correctness is never counted here.
"""

import contextlib
import fnmatch
import functools
import importlib
import sys
import types
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

MAX_OPERATORS = 300  # names that a reading tells


class Dispatch(TorchDispatchMode):
    """A mode whose first operator does not import torch's compiler, which takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Largest(Dispatch):
    """The number of elements in the largest storage that an operator returned."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for item in out if isinstance(out, tuple | list) else (out,):
            if isinstance(item, torch.Tensor) and item.layout == torch.strided:
                size = item.untyped_storage().nbytes() // item.element_size()
                self.elements = max(self.elements, size)
        return out


class Operators(Dispatch):
    """The base name of each operator, and the most elements of a tensor that it took or made."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        space, name = str(func).split(".")[:2]
        known = name if space == "aten" else f"{space}.{name}"
        if known in self.seen or len(self.seen) < MAX_OPERATORS:
            size = most_elements((args, list((kwargs or {}).values()), out))
            self.seen[known] = max(self.seen.get(known, 0), size)
        return out


def most_elements(value: Any) -> int:
    """Return the number of elements of the largest tensor in a value, 0 if it holds none."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, tuple | list):
        return max(map(most_elements, value), default=0)
    return 0


class Launches:
    """Counts launches of Triton kernels, interpreted or compiled, from now on.

    The classes are patched, so a kernel that was decorated earlier counts too.
    """

    def __init__(self) -> None:
        self.total = 0
        self._trials = 0
        self._stack = contextlib.ExitStack()
        with contextlib.suppress(ImportError):  # without Triton there is nothing to count
            self._watch()

    def _watch(self) -> None:
        runtime = importlib.import_module("triton.runtime")
        interpreter = importlib.import_module("triton.runtime.interpreter")
        compiler = importlib.import_module("triton.compiler")
        self._patch(runtime.JITFunction, "run", self._counting)
        self._patch(interpreter.InterpretedFunction, "run", self._counting)
        self._patch(compiler.CompiledKernel, "__getitem__", self._counting_runner)
        self._patch(runtime.Autotuner, "_bench", self._in_trial)

    def _patch(self, owner: Any, name: str, wrap: Callable[..., Any]) -> None:
        method = getattr(owner, name)
        setattr(owner, name, functools.wraps(method)(wrap(method)))
        self._stack.callback(setattr, owner, name, method)

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            out = method(*args, **kwargs)
            # A warm-up compiles and launches nothing.
            self.total += not self._trials and not kwargs.get("warmup")
            return out

        return run

    def _counting_runner(self, method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._counting(method(*args, **kwargs))

    def _in_trial(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def bench(*args: Any, **kwargs: Any) -> Any:
            self._trials += 1
            try:
                return method(*args, **kwargs)
            finally:
                self._trials -= 1

        return bench

    def stop(self) -> int:
        """End the count and return it."""
        self._stack.close()
        return self.total


class Memory:
    """The most GPU memory, in bytes, that was held above what is held now."""

    def __init__(self) -> None:
        torch.cuda.synchronize()
        self._start = torch.cuda.memory_allocated()
        self._peak = self._start
        self.resume()

    def pause(self) -> None:
        """Note the peak so far: what is held only until ``resume`` does not count."""
        self._peak = max(self._peak, torch.cuda.max_memory_allocated())

    def resume(self) -> None:
        """Go on from what is held now."""
        torch.cuda.reset_peak_memory_stats()

    def stop(self) -> int:
        """Return the peak."""
        torch.cuda.synchronize()
        self.pause()
        return self._peak - self._start


class ForbiddenOperators(Dispatch):
    """Notes each aten operator whose name matches a pattern."""

    def __init__(self, patterns: list[str], hits: list[str]) -> None:
        super().__init__()
        self.patterns = patterns
        self.hits = hits

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        note_operator(func, self.patterns, self.hits)
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
    """Watches for what the lab forbids: functions, operators, modules of a package."""

    def __init__(self, config: dict[str, Any]) -> None:
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
        self._stack.enter_context(ForbiddenOperators(config["aten"], self.hits))
        self._stack.enter_context(ForbiddenFunctions(functions, config["aten"], self.hits))

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


class Probes:
    """The probes that are running."""

    def __init__(self) -> None:
        self._running: dict[str, Any] = {}

    def run(self, name: str, action: str, config: dict[str, Any]) -> Any:
        """Start a probe, or stop it and return what it saw."""
        if action == "start":
            self._running[name] = self._start(name, config)
            return None
        return self._stop(name, self._running.pop(name))

    def unobserved(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which no probe counts: our copying is not the submission's cost."""
        return self._paused() if self._running else contextlib.nullcontext()

    @contextlib.contextmanager
    def _paused(self) -> Generator[None, None, None]:
        memory = self._running.get("memory")
        if memory is not None:
            memory.pause()
        with _disable_current_modes():
            yield
        if memory is not None:
            memory.resume()

    def _start(self, name: str, config: dict[str, Any]) -> Any:
        match name:
            case "guard":
                return Guard(config)
            case "flops":
                # Imported here: it brings Triton, and every worker would pay for that.
                from torch.utils.flop_counter import FlopCounterMode

                with FlopCounterMode(display=False):
                    # Its first operator imports hundreds of modules: not in the submission's time.
                    torch.ones(1, 1).matmul(torch.ones(1, 1))
                return FlopCounterMode(display=False).__enter__()
            case "largest":
                return Largest().__enter__()
            case "operators":
                return Operators().__enter__()
            case "launches":
                return Launches()
            case "memory":
                return Memory()
            case _:
                raise ValueError(f"unknown probe {name}")

    def _stop(self, name: str, probe: Any) -> Any:
        if name in ("guard", "launches", "memory"):
            return probe.stop()
        probe.__exit__(None, None, None)
        match name:
            case "flops":
                return probe.get_total_flops()
            case "operators":
                return probe.seen
            case _:
                return probe.elements
