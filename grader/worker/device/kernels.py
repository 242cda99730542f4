"""Kernels on a device: lifted from the submission's text, and interpreted on the true numbers.

A kernel may read and write the storages that the device has, and nothing beside them: what it
loads from elsewhere is zero, and is told as the sanitizer tells it; what it stores there is an
error, as it is in a worker.
"""

import contextlib
import importlib
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from torch import Tensor

from grader.wire.codec import Unpacker
from grader.wire.errors import WireError
from grader.worker.code import kernel_names
from grader.worker.code.kernel_text import Lifted, assert_pointers
from grader.worker.code.lines import Lines
from grader.worker.device.memory import Memory
from grader.worker.sanitizer.findings import Finding, Findings, shown

PLACES = {"load": 0, "store": 0, "atomic_cas": 0, "atomic_rmw": 1}
MASKS = {"load": 1, "store": 2, "atomic_rmw": 3}
VALUES = {"store": 1, "atomic_cas": 2, "atomic_rmw": 2}
LOADS = 3  # the place of a load's dtype


class Kernels:
    """The kernels of one file, over one memory."""

    def __init__(
        self, file: str, text: str, memory: Memory, tensor: Callable[[str, Any], Any]
    ) -> None:
        """``tensor`` makes one of what was told of it."""
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._language: Any = importlib.import_module("triton.language")
        self._types = {
            str(value): value
            for value in vars(self._language).values()
            if isinstance(value, self._language.dtype)
        }
        self._memory = memory
        self._tensor = tensor
        self._names: dict[str, Any] = {}
        self._lifted = Lifted(file, text, self._decode)
        self.found = Findings()
        self._line = Lines().current
        self._axes = 0  # of the grid

    def launch(self, header: dict[str, Any]) -> None:
        """Run a kernel; raises what it raises."""
        line, _ = header["kernel"]
        names: Any = header["names"]
        if type(line) is not int or not isinstance(names, dict):
            raise WireError("a malformed launch")
        kernel = self._lifted.kernel(line, names)
        self._names = names
        args, kwargs, grid = self._decode(header["values"])
        if not all(type(n) is int and n >= 0 for n in grid) or not 1 <= len(grid) <= 3:
            raise WireError("a malformed grid")
        named = [*zip(kernel.arg_names, args, strict=False), *kwargs.items()]
        executor = self._interpreter.GridExecutor(kernel.fn, kernel.arg_names, ())
        assert_pointers(line, named, executor.constexprs)
        self._axes = len(grid)
        with self._led():
            kernel.run(*args, grid=tuple(grid), warmup=False, **kwargs)

    # -- values ----------------------------------------------------------------------------

    def _decode(self, told: Any) -> Any:
        return Unpacker([], self._resolve).unpack(told)

    def _resolve(self, tag: str, body: Any) -> Any:
        match tag:
            case "k":
                return self._lifted.kernel(body, self._names)
            case "M":
                return kernel_names.module(body)
            case "L":
                module, name = body
                return kernel_names.find([name], kernel_names.module(module))
            case "n":
                return self._types[body]
            case "e":
                return self._language.constexpr(self._decode(body))
            case "b":
                return self._descriptor(*self._decode(body))
            case "a":
                wrapper: Any = importlib.import_module("triton.runtime.jit").TensorWrapper
                return wrapper(self._tensor(*_only(body[0])), self._types[body[1]])
            case _:
                return self._tensor(tag, body)

    def _descriptor(self, base: Tensor, *layout: Any) -> Any:
        tools: Any = importlib.import_module("triton.tools.tensor_descriptor")
        return tools.TensorDescriptor(base, *layout)

    # -- memory ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def _led(self) -> Generator[None, None, None]:
        """Let the interpreter touch our storages and nothing else."""
        memory = self._interpreter._interpreter
        plain = {name: getattr(memory, name) for name in PLACES}
        for name, method in plain.items():
            setattr(memory, name, self._watched(name, method))
        try:
            yield
        finally:
            for name, method in plain.items():
                setattr(memory, name, method)

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        place, mask, writes = PLACES[name], MASKS.get(name), name != "load"

        def run(*args: Any) -> Any:
            addresses = args[place]
            lanes = np.ones(addresses.shape, bool) if mask is None else args[mask]
            lanes = np.broadcast_to(np.asarray(lanes, bool), addresses.shape)
            kind = args[VALUES[name]].dtype if writes else np.dtype(args[LOADS])
            beside = self._touched(addresses[lanes], kind.itemsize, writes)
            if not beside.any():
                return method(*args)
            if writes:
                raise IndexError("a kernel writes to memory of no tensor that it was given")
            self._tell(lanes, int(beside.sum()), self._line())
            inside = lanes.copy()
            inside[lanes] = ~beside
            changed = [*args]
            changed[MASKS[name]] = inside
            return method(*changed)

        return run

    def _touched(self, addresses: Any, size: int, writes: bool) -> Any:
        """Note what is written to, and return which elements are of no storage."""
        for region, which in self._memory.around(addresses, size):
            if region is None:
                return which
            if writes:
                region.secret, region.given = True, False
        return np.zeros(addresses.shape, bool)

    def _tell(self, lanes: Any, count: int, line: int) -> None:
        """Tell of a load beside all storages, of so many of the lanes that it lets through."""
        program = self._interpreter.interpreter_builder.grid_idx[: self._axes]
        mask = "" if lanes.all() else f"; the mask lets {lanes.sum()} of {lanes.size} lanes through"
        text = (
            f"Program {shown(program)} reads memory of no tensor that it was passed, in {count} "
            f"lane{'s' * (count != 1)}{mask}."
        )
        self.found.add(Finding("outside", line, text, program=program, count=count))


def _only(told: dict[str, Any]) -> tuple[str, Any]:
    ((tag, body),) = told.items()
    return tag, body
