"""What a kernel does that a GPU would not forgive, though Triton's interpreter lets it pass.

The probe stands between the interpreter and its memory: each access of a launch is held against
the tensors that the launch was given, and against who touched the same elements before. Lanes that
leave all tensors are told of and then masked, so that the worker lives on. ``Decoys`` stands below,
at the functions that get addresses, so both may run at once; what starts last must end first.
"""

import contextlib
import functools
import importlib
import inspect
import random
import weakref
from collections.abc import Callable, Generator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.code.lines import Lines
from grader.worker.operators.unwritten import Unwritten
from grader.worker.sanitizer.addresses import Lanes, lanes_of
from grader.worker.sanitizer.arguments import Argument, named
from grader.worker.sanitizer.arithmetic import Arithmetic
from grader.worker.sanitizer.checked_launch import Launched
from grader.worker.sanitizer.findings import Finding, Findings
from grader.worker.sanitizer.grids import refused
from grader.worker.sanitizer.numbers import too_wide
from grader.worker.sanitizer.undefined import Undefined

Method = Callable[..., Any]


class Sanitizer(Unwritten):
    """Follows the kernels that are launched until it is stopped.

    ``order`` is that of the programs of a launch: "" as the interpreter has it, "reversed", or
    "shuffled" by ``seed``.
    """

    def __init__(self, order: str = "", seed: int = 0) -> None:
        super().__init__()
        self.found = Findings()
        self.undefined = Undefined()
        self._order = order
        self._random = random.Random(seed)
        self.launch: Launched | None = None
        self.launches = 0
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        lines = Lines()
        self.line, self.files = lines.current, lines.files
        self._asked: dict[int, Any] = {}  # weak references to tensors, by addresses asked for
        self._stack = contextlib.ExitStack()
        self._apply()

    def stop(self) -> dict[str, Any]:
        """Let the interpreter be as it was, and return what was found."""
        self._stack.close()
        return {"findings": self.found.plain(), "partial": self.found.partial}

    def _apply(self) -> None:
        builder, executor = self._interpreter.InterpreterBuilder, self._interpreter.GridExecutor
        arithmetic = Arithmetic(self)
        # Of self, pointers, mask, other, policies of caches, volatile: Triton 3.6 has two policies.
        self._policies = len(inspect.signature(builder.create_masked_load).parameters) - 5
        wrappers: dict[str, Callable[[Method], Method]] = {
            "create_masked_load": self._masked_load,
            "create_masked_store": self._masked_store,
            "create_atomic_rmw": self._atomic_rmw,
            "create_atomic_cas": self._atomic_cas,
            **arithmetic.wrappers(),
            "set_grid_dim": self._grid,
            "set_grid_idx": self._program,
        }
        for name, wrap in wrappers.items():
            self._put(builder, name, wrap(getattr(builder, name)))
        for name in ("atomic_load", "atomic_store"):  # in Triton 3.9 they are loads and stores
            if (method := getattr(builder, f"create_{name}", None)) is not None:
                self._put(builder, f"create_{name}", self._plain_atomic(method))
        self._put(executor, "_init_args_hst", self._arguments(executor._init_args_hst))
        self._put(executor, "__call__", self._launching(executor.__call__))

        ask, asked = torch.Tensor.data_ptr, self._asked

        def data_ptr(self: Tensor) -> int:
            address = ask(self)
            asked[address] = weakref.ref(self)
            return address

        torch.Tensor.data_ptr = data_ptr
        self._stack.callback(delattr, torch.Tensor, "data_ptr")

    def _reach(self, address: int) -> Tensor | None:
        """Return a tensor with this address inside whose own address the submission has."""
        with _disable_current_modes():
            for first, reference in [*self._asked.items()]:
                tensor = reference()
                if tensor is not None and first <= address < Argument("", tensor).end:
                    return tensor
        return None

    def _put(self, owner: Any, name: str, value: Any) -> None:
        self._stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    # -- a launch ----------------------------------------------------------------------------

    def _launching(self, method: Method) -> Method:
        @functools.wraps(method)
        def call(executor: Any, *args: Any, **kwargs: Any) -> None:
            before = self.launch
            try:
                method(executor, *args, **kwargs)
            finally:
                if self.launch is not None and self.launch is not before:
                    self.launch.end()
                self.launch = before

        return call

    def _arguments(self, method: Method) -> Method:
        @functools.wraps(method)
        def init(executor: Any, args: Any, kwargs: Any) -> Any:
            on_host = method(executor, args, kwargs)
            with _disable_current_modes():
                pairs = [*zip(executor.arg_names, on_host[0], strict=False), *on_host[1].items()]
                given = [argument for name, value in pairs for argument in named(name, value)]
                self.launches += 1
                self.launch = Launched(given, self.found, self.undefined, self.blank, self._reach)
            return on_host

        return init

    def _grid(self, method: Method) -> Method:
        @functools.wraps(method)
        def set_grid_dim(builder: Any, *grid: int) -> None:
            if why := refused(grid):
                self.found.add(Finding("grid", self.line(), why))
            method(builder, *grid)
            if self.launch is not None:
                self.launch.spread(grid, self._order, self._random)

        return set_grid_dim

    def _program(self, method: Method) -> Method:
        @functools.wraps(method)
        def set_grid_idx(builder: Any, *ids: int) -> None:
            launch = self.launch
            method(builder, *(ids if launch is None else launch.begin(ids)))

        return set_grid_idx

    # -- what a program does -----------------------------------------------------------------

    def _masked_load(self, method: Method) -> Method:
        def load(builder: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **how: Any) -> Any:
            launch = self.launch
            if launch is None:
                return method(builder, ptrs, mask, other, *rest, **how)
            line = self.line()
            lanes, size = lanes_of(ptrs, mask), _size(ptrs)
            self._measure(lanes, size, line)
            inside = launch.load(lanes, size, line)
            out = method(builder, ptrs, self._narrowed(mask, inside), other, *rest, **how)
            # The interpreter takes a scalar other=0.0 for none.
            if other is None and lanes.hidden is not None and lanes.given.size > 1:
                self.undefined.mark(vars(out)["data"], out.dtype.scalar.name, lanes.hidden, line)
            return out

        return load

    def _masked_store(self, method: Method) -> Method:
        def store(builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            launch = self.launch
            if launch is None:
                return method(builder, ptrs, value, mask, *rest)
            lanes, size, line = lanes_of(ptrs, mask), _size(ptrs), self.line()
            self._measure(lanes, size, line)

            def before(chosen: Any) -> Any:
                return self._memory(builder, ptrs, lanes, chosen)

            data, kind = vars(value)["data"], value.dtype.scalar.name
            inside = launch.store(lanes, size, line, data, kind, before)
            return method(builder, ptrs, value, self._narrowed(mask, inside), *rest)

        return store

    def _measure(self, lanes: Lanes, size: int, line: int) -> None:
        """Find blocks that no GPU holds."""
        if why := too_wide(lanes.given.size * size):
            self.found.add(Finding("too large", line, why))

    def _memory(self, builder: Any, ptrs: Any, lanes: Any, chosen: Any) -> Any:
        """Return what lies where some lanes point to."""
        handle = self._interpreter.TensorHandle
        where = lanes.addresses[chosen]
        mask = handle(where == where, self._interpreter.tl.int1)
        launch, self.launch = self.launch, None
        try:
            rest = (None, *(None,) * self._policies, False)
            out = builder.create_masked_load(handle(where, ptrs.dtype), mask, *rest)
            return vars(out)["data"]
        finally:
            self.launch = launch

    def _narrowed(self, mask: Any, inside: Any) -> Any:
        """Return a mask without the lanes that leave all tensors."""
        if inside is None:
            return mask
        return self._interpreter.TensorHandle(inside, self._interpreter.tl.int1)

    def _atomic_rmw(self, method: Method) -> Method:
        def rmw(builder: Any, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
            launch = self.launch
            if launch is None:
                return method(builder, op, ptr, val, mask, sem, scope)
            lanes, line = lanes_of(ptr, mask), self.line()
            data, kind = vars(val)["data"], val.dtype.scalar.name
            inside = launch.atomic(lanes, _size(ptr), line, _order_of(sem, scope), data, kind)
            self.launch = None  # of bf16 it is a load and a store
            try:
                out = method(builder, op, ptr, val, self._narrowed(mask, inside), sem, scope)
            finally:
                self.launch = launch
            self._count(lanes, line, out)
            return out

        return rmw

    def _atomic_cas(self, method: Method) -> Method:
        def cas(builder: Any, ptr: Any, cmp: Any, val: Any, sem: Any, scope: Any) -> Any:
            launch = self.launch
            if launch is None:
                return method(builder, ptr, cmp, val, sem, scope)
            lanes, line = lanes_of(ptr, None), self.line()
            data, kind = vars(val)["data"], val.dtype.scalar.name
            inside = launch.atomic(lanes, _size(ptr), line, _order_of(sem, scope), data, kind)
            if inside is not None:
                raise IndexError("atomic_cas of memory of no tensor that was passed")
            out = method(builder, ptr, cmp, val, sem, scope)
            self._count(lanes, line, out)
            return out

        return cas

    def _count(self, lanes: Lanes, line: int, out: Any) -> None:
        """Notice a loop that waits for one number to change."""
        if self.launch is not None and lanes.given.size == 1 and lanes.mask is None:
            self.launch.wait(lanes, line, vars(out)["data"].ravel())

    def _plain_atomic(self, method: Method) -> Method:
        """Wrap an atomic load or store: it is one in the order of things, too."""

        def access(builder: Any, *args: Any) -> Any:
            launch = self.launch
            if launch is None:
                return method(builder, *args)
            with launch.as_atomic(_order_of(*args[-2:])):
                return method(builder, *args)

        return access


def _size(ptrs: Any) -> int:
    """Return how many bytes an element has that pointers point to."""
    return max(1, ptrs.get_element_ty().primitive_bitwidth // 8)


def _order_of(sem: Any, scope: Any) -> tuple[bool, bool, bool]:
    """Return whether an atomic acquires, whether it releases, and whether other programs see it."""
    name, shared = str(sem).upper(), "CTA" not in str(scope).upper()
    return "ACQ" in name and shared, "RELEASE" in name and shared, shared


@contextlib.contextmanager
def sanitized(order: str = "", seed: int = 0) -> Generator[dict[str, Any]]:
    """Follow what the calls inside launch; afterwards the reading holds what was found."""
    reading: dict[str, Any] = {}
    probe = Sanitizer(order, seed)
    try:
        with probe:
            yield reading
    finally:
        reading.update(probe.stop())
