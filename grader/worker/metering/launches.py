"""Which Triton kernels were launched, and with what, as plain values that another process can use.

A launch is told by the kernel's name and line and by its arguments: of a tensor the dtype, the
shape and whether its address is a multiple of 16, of a number its value. Nothing computed is told.
Launches of which no program runs (``Grids``) are left out: their tensors are as large as it gets.
"""

import contextlib
import functools
import importlib
import json
from typing import Any

import torch
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

MOST_LAUNCHES = 500  # different ones that are told
ALIGNED = 16  # bytes; what Triton specialises a kernel by


class Recorder:
    """Notes each launch of an interpreted kernel until it is stopped; equal ones once."""

    def __init__(self) -> None:
        self._launches: dict[str, dict[str, Any]] = {}
        self._stack = contextlib.ExitStack()
        interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        kernel, self._executor = interpreter.InterpretedFunction, interpreter.GridExecutor
        self._stack.callback(setattr, kernel, "run", kernel.run)
        kernel.run = self._noting(kernel.run)

    def _noting(self, method: Any) -> Any:
        @functools.wraps(method)
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not warmup and not getattr(self._executor.__call__, "skips", False):
                with _disable_current_modes():
                    self._note(kernel.fn, args, kwargs)
            return method(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        return run

    def _note(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        launch = {
            "kernel": function.__qualname__,
            "line": function.__code__.co_firstlineno,
            "args": [plain(value) for value in args],
            "kwargs": {name: plain(value) for name, value in kwargs.items()},
        }
        if len(self._launches) < MOST_LAUNCHES:
            self._launches.setdefault(json.dumps(launch), launch)

    def stop(self) -> list[dict[str, Any]]:
        """End it, and return the launches in the order in which each first came."""
        self._stack.close()
        return [*self._launches.values()]


def plain(value: Any) -> list[Any]:
    """Return an argument as a list that begins with its kind; ``rebuilt`` is the way back."""
    if value is None or type(value) in (bool, int, str):
        return ["value", value]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, torch.dtype):
        return ["torch", str(value).removeprefix("torch.")]
    if isinstance(value, torch.Tensor):
        size = value.untyped_storage().nbytes()
        dtype = str(value.dtype).removeprefix("torch.")
        return ["tensor", dtype, [*value.shape], value.data_ptr() % ALIGNED, size]
    if isinstance(value, tuple | list):
        return ["tuple", [plain(item) for item in value]]
    match type(value).__name__:
        case "dtype":
            return ["dtype", str(value)]
        case "constexpr":
            return ["constexpr", plain(value.value)]
        case "InterpretedFunction":
            return ["kernel", value.fn.__qualname__, value.fn.__code__.co_firstlineno]
        case "TensorDescriptor":
            shapes = [[*value.shape], [*value.strides], [*value.block_shape]]
            return ["descriptor", plain(value.base), *shapes, value.padding]
        case name:
            return ["odd", name]
