"""What launches move and compute, counted exactly as the interpreter runs them.

Requested bytes are those of all lanes that a mask lets through, as often as they ask. Beside them
stand those that no cache could save: each byte that a launch reads before it has written it, once,
and each that it writes, once. An atomic reads and writes. A launch beside another probe that stands
in the interpreter's place is not counted: what that probe reads is not the kernel's.
"""

import contextlib
import functools
import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.metering.launches import plain
from grader.worker.metering.work import Counting, Work
from grader.worker.sanitizer.addresses import Addresses, Lanes, lanes_of
from grader.worker.sanitizer.arguments import Region, named

MOST_LAUNCHES = 300  # different ones that are told
MOST_TENSORS = 32  # of a launch
READ, WRITTEN = 1, 2  # bits of an element's state

Method = Callable[..., Any]


class Launch:
    """One launch while it runs."""

    def __init__(self) -> None:
        self.work = Work()
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.bytes = {"loaded": 0, "stored": 0, "atomic": 0}
        self.partial = False  # some lanes point to no tensor that was passed, or to too large a one
        self._asked: dict[int, dict[str, int]] = {}  # the same by region
        self._addresses: Addresses | None = None
        self._names: list[str] = []

    def take(self, names: list[str], on_host: Any) -> None:
        """Learn what the kernel was given."""
        pairs = [*zip(names, on_host[0], strict=False), *on_host[1].items()]
        given = [argument for name, value in pairs for argument in named(name, value)]
        self._names = [argument.name for argument in given]
        self._addresses = Addresses(given, lambda _tensor: None, lambda _address: None)

    def access(self, kind: str, lanes: Lanes, size: int) -> None:
        """Count lanes that are "loaded", "stored" or do an "atomic", of ``size`` bytes each."""
        asked = int(lanes.addresses.size) * size
        self.bytes[kind] += asked
        assert self._addresses is not None
        for access in self._addresses.parts(lanes, size, 0)[0]:
            region, index = access.region, access.index
            _mark(region, index, kind)
            count = index.stop - index.start if isinstance(index, slice) else len(index)
            own = self._asked.setdefault(id(region), dict.fromkeys(self.bytes, 0))
            own[kind] += count * region.unit
            asked -= count * region.unit
        self.partial |= asked > 0

    def told(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        assert self._addresses is not None
        regions = sorted(self._addresses.passed.regions, key=self._place)
        return {
            "grid": list(self.grid),
            **self.bytes,
            "tensors": [self._region(region) for region in regions[:MOST_TENSORS]],
            "partial": self.partial or len(regions) > MOST_TENSORS,
            **self.work.plain(),
        }

    def _place(self, region: Region) -> int:
        """Return where a tensor of a region stands among the arguments."""
        return min(self._names.index(argument.name) for argument in region.arguments)

    def _region(self, region: Region) -> dict[str, Any]:
        state = region.state if region.followed else np.zeros(0, np.int64)
        known = state[state > 0]  # holes are negative
        once = {
            name: int(np.count_nonzero(known & bit)) * region.unit
            for name, bit in (("read_once", READ), ("written_once", WRITTEN))
        }
        names = ", ".join(dict.fromkeys(argument.name for argument in region.arguments))
        return {
            "name": names[:60],
            **self._asked.get(id(region), dict.fromkeys(self.bytes, 0)),
            **once,
        }


def _mark(region: Region, index: Any, kind: str) -> None:
    """Note of elements that they are read before they are written, or written."""
    state = region.state
    if kind != "stored":
        fresh = state[index] == 0
        if isinstance(index, slice):
            state[index][fresh] = READ
        else:
            state[index[fresh]] = READ
    if kind != "loaded":
        state[index] |= WRITTEN


class Meter:
    """Counts each launch of an interpreted kernel until it is stopped; equal ones once."""

    def __init__(self) -> None:
        self._launches: dict[str, dict[str, Any]] = {}
        self._launch: Launch | None = None
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._stack = contextlib.ExitStack()
        self._apply()

    def stop(self) -> list[dict[str, Any]]:
        """Let the interpreter be as it was; return the launches, each where it first came."""
        self._stack.close()
        return [*self._launches.values()]

    def _apply(self) -> None:
        builder, executor = self._interpreter.InterpreterBuilder, self._interpreter.GridExecutor
        counting = Counting(lambda: self._launch and self._launch.work)
        for name, wrap in counting.wrappers().items():
            if hasattr(builder, name):  # Triton 3.6 divides and scales by fewer
                self._put(builder, name, wrap)
        for owner, name, wrap in counting.reductions():
            self._put(owner, name, wrap)
        for name, kind, place in (
            ("create_masked_load", "loaded", 1),
            ("create_masked_store", "stored", 2),
            ("create_atomic_rmw", "atomic", 3),
            ("create_atomic_cas", "atomic", None),
        ):
            self._put(builder, name, self._moving(kind, place))
        self._put(builder, "set_grid_dim", self._grid)
        self._put(executor, "_init_args_hst", self._arguments)
        self._put(self._interpreter.InterpretedFunction, "run", self._running)
        self._own = builder.create_masked_load

    def _put(self, owner: Any, name: str, wrap: Callable[[Method], Method]) -> None:
        before = getattr(owner, name)
        self._stack.callback(setattr, owner, name, before)
        setattr(owner, name, functools.wraps(before)(wrap(before)))

    def _alone(self) -> bool:
        """Tell whether no other probe stands in the interpreter's place."""
        hidden = hasattr(self._interpreter.TensorHandle, "data")  # decoys' own
        return not hidden and self._interpreter.InterpreterBuilder.create_masked_load is self._own

    def _running(self, method: Method) -> Method:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup or not self._alone():
                return method(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            with _disable_current_modes():
                called = _call(kernel.fn, args, kwargs)
            before, self._launch = self._launch, Launch()
            try:
                out = method(kernel, *args, grid=grid, warmup=warmup, **kwargs)
                with _disable_current_modes():
                    self._note(called, self._launch)
                return out
            finally:
                self._launch = before

        return run

    def _note(self, called: dict[str, Any], launch: Launch) -> None:
        told = {**called, **launch.told()}
        key = json.dumps(told)
        if key in self._launches or len(self._launches) < MOST_LAUNCHES:
            self._launches.setdefault(key, {**told, "times": 0})["times"] += 1

    def _arguments(self, method: Method) -> Method:
        def init(executor: Any, args: Any, kwargs: Any) -> Any:
            on_host = method(executor, args, kwargs)
            if self._launch is not None:
                with _disable_current_modes():
                    self._launch.take(executor.arg_names, on_host)
            return on_host

        return init

    def _grid(self, method: Method) -> Method:
        def set_grid_dim(builder: Any, *grid: int) -> None:
            method(builder, *grid)
            if self._launch is not None:
                self._launch.grid = tuple(map(int, grid))

        return set_grid_dim

    def _moving(self, kind: str, mask: int | None) -> Callable[[Method], Method]:
        """Return what wraps a method that moves bytes; ``mask`` is the place of its mask."""
        pointers = 1 if mask == 3 else 0  # behind the operation of an atomic

        def wrap(method: Method) -> Method:
            def move(builder: Any, *args: Any, **how: Any) -> Any:
                launch, self._launch = self._launch, None  # of what it is made of nothing counts
                try:
                    out = method(builder, *args, **how)
                finally:
                    self._launch = launch
                if launch is not None:
                    hides = None if mask is None else args[mask]
                    launch.access(kind, lanes_of(args[pointers], hides), _size(args[pointers]))
                return out

            return move

        return wrap


def _call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {
        "kernel": function.__qualname__,
        "line": line_of(function),
        "args": [plain(value) for value in args],
        "kwargs": {name: plain(value) for name, value in kwargs.items()},
    }


def line_of(function: Any) -> int:
    """Return the line of a kernel's ``def``; decorators stand above it."""
    lines, first = inspect.getsourcelines(function)
    return first + next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)


def _size(ptrs: Any) -> int:
    """Return how many bytes an element has that pointers point to."""
    return max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
