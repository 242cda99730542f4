"""The interpreter, led to memory that kernels alone see; nobody else gets at it through Triton.

Its own code alone gets at memory and at the numbers in a block. To any other caller memory is what
Python sees, and a block holds zeros.
"""

import contextlib
import functools
import importlib
import sys
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker import bf16, operations
from grader.worker import interpreter as mended
from grader.worker.box import Box
from grader.worker.digging import own_frame
from grader.worker.shadow import tensors_in


class Probe(Protocol):
    """Who wants to know what kernels do."""

    shadow: Box

    def launch(self) -> AbstractContextManager[None]:
        """Return a context in which a kernel runs."""
        ...

    def number(self, value: Any) -> Any:
        """Return an integer that leaves a kernel."""
        ...

    def note(self, what: str) -> None:
        """Note how numbers were asked for that only kernels may see."""
        ...


class Token:
    """Stands in a block's fields for its numbers."""

    __slots__ = ("__weakref__",)


def _hold(own: frozenset[int]) -> Generator[Any, Any, None]:
    """Keep the numbers of blocks, by their tokens, where no attribute leads.

    What is sent is a token and what to keep, or None to read it; what comes is what it is, zeros
    for code that is not the interpreter's, and whether it was.
    """
    blocks = weakref.WeakKeyDictionary[Token, Any]()
    answer: Any = None
    while True:
        token, data = yield answer
        if data is not None:
            blocks[token], data, answer = data, None, None
            continue
        found = blocks[token] if type(token) is Token else token  # of before the watch
        trusted = own_frame(1).f_globals is globals() and id(own_frame(2).f_globals) in own
        answer = (found, True) if trusted else (np.zeros_like(found), False)
        del found, token


class Loads:
    """What is put into the interpreter's place while the probe runs."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        own = (self._interpreter, bf16, operations, mended, sys.modules[__name__])
        self._own = {id(vars(module)) for module in own}
        blocks = _hold(frozenset(self._own))
        next(blocks)
        self._blocks = blocks.send

    def apply(self, stack: contextlib.ExitStack) -> None:
        """Patch the interpreter until the stack is closed."""
        memory, executor = self._interpreter._interpreter, self._interpreter.GridExecutor
        places = {"load": 0, "store": 0, "atomic_cas": 0, "atomic_rmw": 1}
        masks = {"load": 1, "store": 2, "atomic_rmw": 3}
        for name, place in places.items():
            self._put(stack, memory, name, self._led(getattr(memory, name), place, masks.get(name)))
        self._put(stack, executor, "_init_args_hst", self._known(executor._init_args_hst))
        self._put(stack, executor, "__call__", self._launched(executor.__call__))
        patch = self._interpreter._patch_lang_tensor
        self._put(stack, self._interpreter, "_patch_lang_tensor", self._counted(patch))
        builder = self._interpreter.InterpreterBuilder
        self._put(stack, builder, "create_print", lambda *_args: None)
        handle = self._interpreter.TensorHandle
        self._put(stack, handle, "__repr__", lambda block: f"<{block.dtype}>")
        handle.data = property(self._data, self._keep)
        stack.callback(delattr, handle, "data")

    def _put(self, stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
        stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def _is_own(self, depth: int) -> bool:
        return id(own_frame(depth + 1).f_globals) in self._own

    def _data(self, handle: Any) -> Any:
        found, own = self._blocks((vars(handle)["data"], None))
        if not own:
            self._probe.note("the inside of a block")
        return found

    def _keep(self, handle: Any, data: Any) -> None:
        vars(handle)["data"] = token = Token()
        self._blocks((token, data))

    def _led(self, method: Callable[..., Any], place: int, mask: int | None) -> Callable[..., Any]:
        """Wrap a function of the interpreter's memory, whose arguments hold addresses and mask."""

        def led(*args: Any) -> Any:
            if not self._is_own(1):
                return method(*args)
            addresses, changed = args[place], [*args]
            lanes = True if mask is None else args[mask]
            lanes = np.broadcast_to(np.asarray(lanes, bool), addresses.shape)
            writes = mask != 1
            changed[place] = self._probe.shadow.ask("lead", addresses, lanes, writes=writes)
            return method(*changed)

        return led

    def _known(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def init(*args: Any) -> Any:
            found = method(*args)
            with _disable_current_modes():
                for tensor in arguments(found):
                    self._probe.shadow.ask("refresh", tensor)
            return found

        return init

    def _launched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._probe.launch():
                return method(*args, **kwargs)

        return call

    def _counted(self, patch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        """Count the numbers that leave a kernel; as a text there is none."""

        def patch_tensor(tensor: Any, scope: Any) -> None:
            patch(tensor, scope)
            index, truth, number = tensor.__index__, tensor.__bool__, self._probe.number
            scope.set_attr(tensor, "__index__", lambda block: number(index(block)))
            scope.set_attr(tensor, "__bool__", lambda block: number(truth(block)))
            for name in ("__str__", "__repr__"):
                scope.set_attr(tensor, name, lambda block: f"<{block.type}>")

        return patch_tensor


def arguments(value: Any) -> Iterator[Tensor]:
    """Walk through the tensors of a launch, in wrappers and descriptors too."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from arguments(item)
    elif isinstance(value, dict):
        yield from arguments([*value.values()])
    elif isinstance(value, Tensor):
        yield from tensors_in(value)
    elif isinstance(base := getattr(value, "base", None), Tensor):
        yield from tensors_in(base)
