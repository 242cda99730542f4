"""Whether kernels alone do the work: in calls under this probe, all else reads other numbers.

An argument that is hidden lies in memory as decoys. What the interpreter loads for a kernel comes
from the ``Shadow``, what it stores goes there, and so does the result that the judge gets. torch
on the host is followed there as far as a lab lets it: it may move values, add up what kernels
wrote, and compute on few elements. Whatever else computes, were it numpy, plain Python, or torch in
a kernel's body, has worked on decoys.
"""

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.wire.storage import odd_tensor
from grader.worker import bf16
from grader.worker import interpreter as mended
from grader.worker.counters import Dispatch, most_elements
from grader.worker.followed import ARITHMETIC, MOVES, fills, name_of
from grader.worker.shadow import Shadow

MAX_NOTES = 20


class Decoys(Dispatch):
    """Follows torch on the host into the shadow, and leads the interpreter there.

    ``free`` are operators that may compute on any number of elements, but on no argument;
    ``elements`` is what all others together may, and how many numbers may leave kernels.
    """

    def __init__(self, free: list[str], elements: int) -> None:
        super().__init__()
        self.shadow = Shadow()
        self.launches = 0
        self.fault = ""
        self._free = frozenset(free)
        self._elements = elements
        self._numbers = elements
        self._depth = 0  # launches that run
        self._notes: dict[str, None] = {}
        self._stack = contextlib.ExitStack()
        Leads(self).apply(self._stack)

    def hide(self, true: Tensor, seen: Tensor) -> Tensor:
        """Let kernels alone see ``true``, and return what Python sees in its place."""
        with _disable_current_modes():
            self.shadow.hide(true, seen)
        return seen

    def true(self, tensor: Tensor) -> Tensor:
        """Return a result as kernels left it."""
        return self.shadow.view(tensor) if self.shadow.find(tensor) is not None else tensor

    def note(self, what: str) -> None:
        """Note how numbers were asked for that only kernels may see."""
        if len(self._notes) < MAX_NOTES:
            self._notes[what] = None

    @contextlib.contextmanager
    def launch(self) -> Generator[None]:
        """Return a context in which a kernel runs: nothing that torch does is followed."""
        self.launches += 1
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def number(self, value: Any) -> Any:
        """Return a number that leaves a kernel for Python's own use; of too many, nothing."""
        self._numbers -= 1
        if self._numbers < 0:
            self.note("numbers taken out of blocks")
            return type(value)()
        return value

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator; where it may, it runs in the shadow too."""
        name = name_of(func)
        given = [*_tensors((args, kwargs))]
        regions = [region for region in map(self.shadow.find, given) if region is not None]
        if fills(name) or not regions:
            return func(*args, **kwargs)
        written = [*_written(func, args, kwargs)]
        with _disable_current_modes():
            for tensor in written:
                self.shadow.know(tensor)
        out = func(*args, **kwargs)
        made = _apart([*_tensors(out)], given)
        differs = any(region.written for region in regions)
        if differs and not (made or written):  # a view, or a look
            if name == "local_scalar_dense":
                self.note("item")
            return out
        with _disable_current_modes():
            if differs and self._may(name, given, out):
                if self._follow(func, args, kwargs, out, made):
                    return out
            for tensor in written:
                self.shadow.take_plain(tensor)
        if differs:
            self.note(f"torch's {name or func}"[:60])
        return out

    def _may(self, name: str, given: list[Tensor], out: Any) -> bool:
        """Tell whether a lab lets torch do this outside of kernels."""
        if self._depth:
            return False
        if name in MOVES:
            return True
        regions = map(self.shadow.find, given)
        if name in self._free and not any(region and region.given for region in regions):
            return True
        size = most_elements((given, out))
        if name not in ARITHMETIC or size > self._elements:
            return False
        self._elements -= size
        return True

    def _follow(self, func: Any, args: Any, kwargs: Any, out: Any, made: list[Tensor]) -> bool:
        """Run an operator on what kernels see; False where other values make it another one."""
        try:
            twin = func(*self._twins(args), **self._twins(kwargs))
        except Exception:  # an index that is out of bounds there
            return False
        if [tensor.shape for tensor in _tensors(twin)] != [item.shape for item in _tensors(out)]:
            return False
        try:
            given = map(self.shadow.find, _tensors((args, kwargs)))
            moved = any(region is not None and region.given for region in given)
            for tensor, true in zip(_tensors(out), _tensors(twin), strict=True):
                region = self.shadow.know(tensor)
                region.written, region.given = True, region.given or moved
                if any(tensor is item for item in made):
                    self.shadow.view(tensor).copy_(true)
        except MemoryError:
            raise
        except Exception as error:
            self.fault = f"{func}: {error!r}"[:200]
        return True

    def _twins(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.shadow.view(value) if self.shadow.find(value) is not None else value
        if isinstance(value, tuple | list):
            return type(value)(map(self._twins, value))
        if isinstance(value, dict):
            return {key: self._twins(item) for key, item in value.items()}
        return value

    def stop(self) -> dict[str, Any]:
        """Let Python see memory again, and return what was seen."""
        self._stack.close()
        self.shadow.settle()
        return {"launches": self.launches, "notes": [*self._notes], "fault": self.fault}


def _tensors(value: Any) -> Iterator[Tensor]:
    """Walk through the tensors of plain memory in a value."""
    if isinstance(value, Tensor):
        if not odd_tensor(value) and value.device.type == "cpu":
            yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors([*value.values()])


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[Tensor]:
    """Walk through the arguments that an operator writes to."""
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from _tensors(value)


def _apart(tensors: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    """Return the tensors that share no memory with the others."""
    known = {other.untyped_storage().data_ptr() for other in others}
    return [tensor for tensor in tensors if tensor.untyped_storage().data_ptr() not in known]


class Leads:
    """What is put into the interpreter's place while the probe runs.

    Its own code alone gets at memory and at the numbers in a block. To any other caller memory is
    what Python sees, and a block holds zeros.
    """

    def __init__(self, probe: Decoys) -> None:
        self._probe = probe
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        own = (self._interpreter, bf16, mended, sys.modules[__name__])
        self._own = {id(vars(module)) for module in own}

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
        handle.data = property(self._data, _keep)
        stack.callback(delattr, handle, "data")

    def _put(self, stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
        stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def _is_own(self, depth: int) -> bool:
        frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
        return id(frame.f_globals) in self._own

    def _data(self, handle: Any) -> Any:
        data = vars(handle)["data"]
        if self._is_own(1):
            return data
        self._probe.note("the inside of a block")
        return np.zeros_like(data)

    def _led(self, method: Callable[..., Any], place: int, mask: int | None) -> Callable[..., Any]:
        """Wrap a function of the interpreter's memory, whose arguments hold addresses and mask."""

        def led(*args: Any) -> Any:
            if not self._is_own(1):
                return method(*args)
            addresses, changed = args[place], [*args]
            lanes = True if mask is None else args[mask]
            lanes = np.broadcast_to(np.asarray(lanes, bool), addresses.shape)
            writes = mask != 1
            changed[place] = self._probe.shadow.lead(addresses, lanes, writes=writes)
            return method(*changed)

        return led

    def _known(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def init(*args: Any) -> Any:
            found = method(*args)
            with _disable_current_modes():
                for tensor in _arguments(found):
                    self._probe.shadow.refresh(tensor)
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


def _keep(handle: Any, data: Any) -> None:
    vars(handle)["data"] = data


def _arguments(value: Any) -> Iterator[Tensor]:
    """Walk through the tensors of a launch, in wrappers and descriptors too."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from _arguments(item)
    elif isinstance(value, dict):
        yield from _arguments([*value.values()])
    elif isinstance(value, Tensor):
        yield from _tensors(value)
    elif isinstance(base := getattr(value, "base", None), torch.Tensor):
        yield from _tensors(base)
