"""What the programs of a launch touch, access by access, as plain data that a picture is drawn of.

The tracer stands where the sanitizer does, between the interpreter and its memory. Lanes that leave
all tensors are noted and then masked, so that the kernel goes on and shows the rest.
"""

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.worker.code.lines import Lines
from grader.worker.kernels import bf16
from grader.worker.sanitizer.addresses import Lanes, lanes_of
from grader.worker.sanitizer.arguments import Argument, named

HIDDEN, OUTSIDE, ELSEWHERE = -1, -2, -3  # lanes that touch no element of the tensor of a step
MOST_LAUNCHES = 8
MOST_STEPS = 2000  # of a launch
MOST_LANES = 4096  # of a step that are kept
MOST_KEPT = 1 << 20  # lanes of all steps
MOST_VALUES = 64  # lanes of a step up to which their values are kept
MOST_TEXT = 60  # characters of an argument or a value

Method = Callable[..., Any]


class Tracer:
    """Follows the kernels that are launched until it is stopped."""

    def __init__(self) -> None:
        self.launches: list[dict[str, Any]] = []
        self.more = 0  # launches that were not followed
        self._launch: dict[str, Any] | None = None
        self._given: list[Argument] = []
        self._program: tuple[int, ...] = (0, 0, 0)
        self._kept = 0
        self._kernel: Any = None  # its code
        self._failed: list[int] | None = None
        self._line = Lines().current
        self._interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._stack = contextlib.ExitStack()
        self._apply()

    @property
    def program(self) -> list[int] | None:
        """The program that ran when the last launch ended with an error."""
        return self._failed

    def stop(self) -> dict[str, Any]:
        """Let the interpreter be as it was, and return what was recorded."""
        self._stack.close()
        return {"launches": self.launches, "more": self.more}

    def _apply(self) -> None:
        builder, executor = self._interpreter.InterpreterBuilder, self._interpreter.GridExecutor
        for owner, name, wrap in (
            (builder, "create_masked_load", self._load),
            (builder, "create_masked_store", self._store),
            (builder, "create_atomic_rmw", self._atomic),
            (builder, "create_atomic_cas", self._exchange),
            (builder, "set_grid_dim", self._grid),
            (builder, "set_grid_idx", self._begin),
            (executor, "_init_args_hst", self._arguments),
            (executor, "__call__", self._launching),
        ):
            before = getattr(owner, name)
            self._stack.callback(setattr, owner, name, before)
            setattr(owner, name, functools.wraps(before)(wrap(before)))

    # -- a launch ----------------------------------------------------------------------------

    def _launching(self, method: Method) -> Method:
        def call(executor: Any, *args: Any, **kwargs: Any) -> None:
            before, self._launch = self._launch, None
            try:
                method(executor, *args, **kwargs)
            except Exception:
                if self._launch is not None:
                    self._failed = self._ids()
                raise
            finally:
                self._launch = before

        return call

    def _arguments(self, method: Method) -> Method:
        def init(executor: Any, args: Any, kwargs: Any) -> Any:
            on_host = method(executor, args, kwargs)
            if len(self.launches) >= MOST_LAUNCHES:
                self.more += 1
                return on_host
            pairs = [*zip(executor.arg_names, on_host[0], strict=False), *on_host[1].items()]
            self._given = [found for name, value in pairs for found in named(name, value)]
            tensors = {argument.name.partition("[")[0] for argument in self._given}
            self._kernel = executor.fn.__code__
            lines, first = inspect.getsourcelines(executor.fn)
            self._launch = {
                "kernel": executor.fn.__name__,
                "first": first,
                "source": [line.rstrip("\n") for line in lines],
                "grid": [1],
                "arguments": [
                    [name, _short(value)] for name, value in pairs if name not in tensors
                ],
                "tensors": [_described(argument) for argument in self._given],
                "steps": [],
                "more": 0,
            }
            self.launches.append(self._launch)
            return on_host

        return init

    def _grid(self, method: Method) -> Method:
        def set_grid_dim(builder: Any, *grid: int) -> None:
            method(builder, *grid)
            if self._launch is not None:
                axes = max((n + 1 for n, size in enumerate(grid) if size != 1), default=1)
                self._launch["grid"] = [int(size) for size in grid[:axes]]

        return set_grid_dim

    def _begin(self, method: Method) -> Method:
        def set_grid_idx(builder: Any, *ids: int) -> None:
            self._program = ids
            method(builder, *ids)

        return set_grid_idx

    # -- what a program does -----------------------------------------------------------------

    def _load(self, method: Method) -> Method:
        def load(builder: Any, ptrs: Any, mask: Any, *rest: Any, **how: Any) -> Any:
            lanes = lanes_of(ptrs, mask)
            steps, inside = self._note("load", lanes)
            out = method(builder, ptrs, self._narrowed(mask, inside), *rest, **how)
            self._values(steps, lanes, out)
            return out

        return load

    def _store(self, method: Method) -> Method:
        def store(builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            lanes = lanes_of(ptrs, mask)
            steps, inside = self._note("store", lanes)
            self._values(steps, lanes, value)
            return method(builder, ptrs, value, self._narrowed(mask, inside), *rest)

        return store

    def _atomic(self, method: Method) -> Method:
        def rmw(builder: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
            lanes = lanes_of(ptr, mask)
            steps, inside = self._note(_atomic_name(op), lanes)
            self._values(steps, lanes, val)
            return method(builder, op, ptr, val, self._narrowed(mask, inside), *rest)

        return rmw

    def _exchange(self, method: Method) -> Method:
        def cas(builder: Any, ptr: Any, cmp: Any, val: Any, *rest: Any) -> Any:
            lanes = lanes_of(ptr, None)
            steps, inside = self._note("atomic_cas", lanes)
            if inside is not None:
                raise IndexError("atomic_cas of memory of no tensor that was passed")
            self._values(steps, lanes, val)
            return method(builder, ptr, cmp, val, *rest)

        return cas

    def _narrowed(self, mask: Any, inside: Any) -> Any:
        if inside is None:
            return mask
        return self._interpreter.TensorHandle(inside, self._interpreter.tl.int1)

    def _note(self, kind: str, lanes: Lanes) -> tuple[list[dict[str, Any]], Any]:
        """Record an access; return its steps, and the lanes inside if some lie outside."""
        launch = self._launch
        if launch is None:
            return [], None
        owners, elements = self._found(lanes)
        touched = [int(owner) for owner in np.unique(owners[owners >= 0])]
        shape, line = [int(size) for size in lanes.given.shape], self._line()
        steps: list[dict[str, Any]] = []
        for owner in touched or [self._nearest(int(lanes.given.flat[0]))]:
            numbers = np.where(owners >= 0, ELSEWHERE, owners)
            numbers[owners == owner] = elements[owners == owner]
            numbers = numbers[:MOST_LANES]
            if len(launch["steps"]) >= MOST_STEPS or self._kept + len(numbers) > MOST_KEPT:
                launch["more"] += 1
                continue
            self._kept += len(numbers)
            step: dict[str, Any] = {
                "program": self._ids(),
                "line": self._kernel_line() or line,
                "inner": line,  # of a function that the kernel calls, or the same
                "kind": kind,
                "tensor": owner,
                "shape": shape,
                "lanes": numbers.tolist(),
                "hidden": int((owners == HIDDEN).sum()),
                "outside": int((owners == OUTSIDE).sum()),
            }
            launch["steps"].append(step)
            steps.append(step)
        if not (owners == OUTSIDE).any():
            return steps, None
        return steps, (owners >= 0).reshape(lanes.given.shape)

    def _ids(self) -> list[int]:
        assert self._launch is not None
        return [int(at) for at in self._program[: len(self._launch["grid"])]]

    def _kernel_line(self) -> int:
        """Return the line of the kernel itself that is running; 0 outside of it."""
        frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and frame.f_code is not self._kernel:
            frame = frame.f_back
        return 0 if frame is None else frame.f_lineno

    def _nearest(self, address: int) -> int | None:
        """Return the number of the tensor that an access of no element was meant for."""
        distances = [
            max(argument.start - address, address - argument.end, 0) for argument in self._given
        ]
        return distances.index(min(distances)) if distances else None

    def _found(self, lanes: Lanes) -> tuple[Any, Any]:
        """Return of each lane the number of its tensor, and of its element there."""
        count = lanes.given.size
        owners, elements = np.full(count, OUTSIDE), np.zeros(count, np.int64)
        if lanes.hidden is not None:
            owners[lanes.hidden.ravel()] = HIDDEN
        addresses = lanes.given.ravel()
        for number, argument in enumerate(self._given):
            numbers = elements_of(argument, addresses)
            here = (owners == OUTSIDE) & (numbers >= 0)
            owners[here], elements[here] = number, numbers[here]
        return owners, elements

    def _values(self, steps: list[dict[str, Any]], lanes: Lanes, handle: Any) -> None:
        """Keep what is loaded or stored, if the block is small."""
        if not steps or lanes.given.size > MOST_VALUES:
            return
        values = np.broadcast_to(bf16.shown(handle), lanes.given.shape).ravel()
        for step in steps:
            step["values"] = [
                _short(value) if lane >= 0 else ""
                for lane, value in zip(step["lanes"], values.tolist(), strict=True)
            ]


def elements_of(argument: Argument, addresses: Any) -> Any:
    """Return the numbers of the elements at addresses, in the tensor's own order; -1 for none."""
    tensor = argument.tensor
    if not tensor.numel():
        return np.full(len(addresses), -1)
    offsets = addresses.astype(np.int64) - argument.start
    inside = (offsets >= 0) & (offsets < argument.end - argument.start)
    rest, odd = np.divmod(offsets, tensor.element_size())
    numbers, own = np.zeros(len(addresses), np.int64), 1
    weights: list[int] = []  # of an index of each axis, in the number of an element
    for size in reversed(tensor.shape):
        weights.insert(0, own)
        own *= size
    for axis in sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis)):
        if stride := tensor.stride(axis):
            at = np.minimum(rest // stride, tensor.shape[axis] - 1)
            rest = rest - at * stride
            numbers += at * weights[axis]
    return np.where(inside & (odd == 0) & (rest == 0), numbers, -1)


def _described(argument: Argument) -> dict[str, Any]:
    tensor = argument.tensor
    return {
        "name": argument.name,
        "shape": [*tensor.shape],
        "strides": [*tensor.stride()],
        "dtype": str(tensor.dtype).removeprefix("torch."),
    }


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def _atomic_name(operation: Any) -> str:
    """Return ``tl``'s name of an operation of the interpreter: FADD and ADD are atomic_add."""
    name = str(operation).rpartition(".")[2].lower()
    return "atomic_" + {"fadd": "add", "umax": "max", "umin": "min", "exch": "xchg"}.get(name, name)
