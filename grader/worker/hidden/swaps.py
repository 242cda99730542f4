"""A GPU's kernels, led to memory that they alone see: it is exchanged while one of them runs.

A compiled kernel goes to its memory by addresses that nobody can translate. So the numbers lie
apart, and around each launch they are copied to where the kernel looks, and the decoys back again
after it, on the stream of the launch. Nothing of the submission's runs in between on this thread:
hooks of a launch are called outside.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.hidden.box import Box
from grader.worker.operators.places import arguments

HOOKS = slice(2, 4)  # of what a launcher is given behind the grid, the stream and the function


class Probe(Protocol):
    """Who wants to know what kernels do."""

    shadow: Box

    def launch(self) -> AbstractContextManager[None]:
        """Return a context in which a kernel runs."""
        ...


class Swaps:
    """What is put around launches while the probe runs; ``compiled``, or in the interpreter."""

    def __init__(self, probe: Probe, *, compiled: bool) -> None:
        self._probe = probe
        self._compiled = compiled

    def apply(self, stack: contextlib.ExitStack) -> None:
        """Patch the launcher until the stack is closed."""
        if self._compiled:
            driver: Any = importlib.import_module("triton.backends.nvidia.driver")
            owner, wrap = driver.CudaLauncher, self._launching
        else:
            interpreter: Any = importlib.import_module("triton.runtime.interpreter")
            owner, wrap = interpreter.GridExecutor, self._interpreting
        stack.callback(setattr, owner, "__call__", owner.__call__)
        owner.__call__ = wrap(owner.__call__)

    def _launching(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(launcher: Any, *args: Any) -> Any:
            place, rest = args[:5], [*args[5:]]
            enter, leave = rest[HOOKS]
            rest[HOOKS] = None, None
            plain = launcher.launch
            launcher.launch = lambda *given: self.run(plain, given, rest)
            try:
                if enter:
                    enter(rest[1])
                out = method(launcher, *place, *rest)
                if leave:
                    leave(rest[1])
                return out
            finally:
                launcher.launch = plain

        return call

    def _interpreting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            plain = functools.partial(method, executor, **kwargs)
            return self.run(plain, args, [args, kwargs])

        return call

    def run(self, plain: Callable[..., Any], given: Any, tensors: Any) -> Any:
        """Launch a kernel while what it alone may see lies where it looks."""
        shadow = self._probe.shadow
        with _disable_current_modes():
            for tensor in arguments(tensors):
                shadow.ask("refresh", tensor)
            shadow.ask("uncover")
            try:
                with self._probe.launch():
                    return plain(*given)
            finally:
                shadow.ask("cover")
