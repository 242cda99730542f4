"""Triton in a worker: imported before the submission, and mended where its interpreter is wrong.

Mended, so that a kernel that is right on a GPU is right here: bf16 (see ``bf16``); ``autotune``,
which wants a GPU to time on; a grid given as a list; Python's ``min`` and ``max`` of blocks, which
took one operand for all lanes; ``range`` of int64, which counted in int32; numpy's warnings about
lanes that a mask hides; in Triton 3.6 with a recent numpy, loops to a bound that is an argument;
functions of libdevice, which did nothing; and grids of more programs than a GPU takes, which ran.
``docs/triton-interpreter.md`` lists what is still different. What it does again and again is done
once, which halves its time.
"""

import builtins
import contextlib
import dataclasses
import functools
import importlib
import math
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.kernels import bf16, operations
from grader.worker.sanitizer import grids

# Functions of libdevice that numpy has too: those that kernels of a norm or an activation call.
NUMPYS = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log1p", "log2"),
    *("log10", "sqrt", "cbrt", "rint", "trunc", "floor", "ceil", "abs", "hypot", "copysign"),
)
LIBDEVICE: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in NUMPYS},
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "div_rn": np.divide,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}
PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")  # of ``tl.dot``, as on an NVIDIA GPU


def prepare(device: str) -> None:
    """Import Triton, so that no submission waits for it; "cpu" means its interpreter."""
    importlib.import_module("triton.language")
    # The first launch imports this, for a tenth of a second: here it is done once for all workers.
    with contextlib.suppress(ImportError):  # older ones have none
        importlib.import_module("triton.experimental.gluon")
    if device == "cpu":
        mend()
    elif torch.version.cuda:
        # Builds Triton's own part of the driver, which each worker's empty cache lacks. It is named
        # here, as Triton would look for a GPU to choose one.
        cuda: Any = importlib.import_module("triton.backends.nvidia.driver")
        importlib.import_module("triton.runtime").driver.set_active(cuda.CudaDriver())


def mend() -> None:
    """Patch the interpreter's classes, once for all kernels of the process."""
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    tl: Any = importlib.import_module("triton.language")
    bf16.Mend().apply()
    operations.apply()
    # Nothing can be timed here: every configuration is as good as the first.
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    tuner._bench = lambda *_args, **_kwargs: [0.0, 0.0, 0.0]
    executor = interpreter.GridExecutor
    executor.__init__ = _with_tuple_grid(executor.__init__)
    tl.core.block_type.__init__ = _known_type(tl.core.block_type.__init__)
    tl.core.tensor.__init__ = _known_shape(tl.core.tensor.__init__)
    once = _Once(interpreter._patch_lang, interpreter._LangPatchScope, (tl, tl.core))
    interpreter._patch_lang = once.patch
    executor.__call__ = once.launching(executor.__call__)
    for name in ("_init_args_hst", "_restore_args_dev"):  # all that it does with torch
        setattr(executor, name, _unobserved(getattr(executor, name)))
    interpreter._patch_lang_tensor = _for_python(interpreter._patch_lang_tensor)
    interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)
    interpreter.InterpreterBuilder.set_grid_dim = grids.refusing(
        interpreter.InterpreterBuilder.set_grid_dim
    )
    # It would compute every sum of integers thrice, to assert what it asserts in debug mode only.
    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(
        builder.options,
        sanitize_overflow=builder.options.debug,
        allowed_dot_input_precisions=PRECISIONS,
    )
    interpreter.InterpreterBuilder.create_libdevice = _libdevice
    libdevice: Any = importlib.import_module("triton.language.extra.libdevice")
    for name, empty in [*vars(libdevice).items()]:
        if callable(empty):
            setattr(libdevice, name, _of_numpy(name, interpreter, tl))
    # The interpreter gives the names of its module to the kernels.
    interpreter.min = _lanewise("min", "minimum", tl)
    interpreter.max = _lanewise("max", "maximum", tl)
    interpreter.range = _counting(interpreter, tl)
    ours = r"triton\.runtime\.interpreter|grader\.worker\.(bf16|operations)"
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=ours)


def _with_tuple_grid(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def init(self: Any, fn: Any, names: Any, grid: Any, *rest: Any) -> None:
        if callable(grid):
            method(self, fn, names, lambda meta: tuple(grid(meta)), *rest)  # pyright: ignore
        else:
            method(self, fn, names, tuple(grid), *rest)

    return init


def _unobserved(method: Callable[..., Any]) -> Callable[..., Any]:
    """Hide what the interpreter does with torch from probes, but not what a kernel's body does."""

    @functools.wraps(method)
    def hidden(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return method(*args, **kwargs)

    return hidden


class _Once:
    """Lets a launch patch ``triton.language`` once.

    The interpreter does so again at each call of a function within a kernel, ``tl.max`` and
    ``tl.zeros`` too, which is a quarter of what it does.
    """

    def __init__(
        self, patch: Callable[[Any], Any], nothing: Callable[[], Any], namespaces: tuple[Any, ...]
    ) -> None:
        self._patch = patch
        self._nothing = nothing  # makes the scope of a patch that changes nothing
        self._namespaces = namespaces  # that may be patched
        self._launch = threading.local()

    def launching(self, method: Callable[..., None]) -> Callable[..., None]:
        """Wrap a launch: what it patches, it patches once."""

        @functools.wraps(method)
        def launch(*args: Any, **kwargs: Any) -> None:
            before = self._patched()
            self._launch.patched, self._launch.seen = set[int](), dict[int, set[int]]()
            try:
                method(*args, **kwargs)
            finally:
                self._launch.patched = before

        return launch

    def patch(self, function: Any) -> Any:
        """Patch the modules that a function sees, unless this launch has."""
        patched = self._patched()
        if patched is None:
            return self._patch(function)
        seen = self._seen_by(function)
        if patched and seen <= patched:
            return self._nothing()
        patched |= seen
        return self._patch(function)

    def _seen_by(self, function: Any) -> set[int]:
        """Return which of the modules a function sees; a launch asks once for each file."""
        names = function.__globals__
        known = self._launch.seen
        if id(names) not in known:
            visible = {id(value) for value in names.values()}
            known[id(names)] = {id(module) for module in self._namespaces} & visible
        return known[id(names)]

    def _patched(self) -> set[int] | None:
        return getattr(self._launch, "patched", None)


def _by_name(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Keep what the interpreter finds for a type: it makes a table of all types each time."""
    found: dict[str, Any] = {}

    @functools.wraps(find)
    def dtype(kind: Any) -> Any:
        if kind.name not in found:
            found[kind.name] = find(kind)
        return found[kind.name]

    return dtype


def _known_type(method: Callable[..., None]) -> Callable[..., None]:
    """Keep what a type of blocks works out: its name takes longer than most operators."""
    known: dict[Any, dict[str, Any]] = {}

    @functools.wraps(method)
    def init(self: Any, element_ty: Any, shape: Any) -> None:
        lengths = tuple(getattr(length, "value", length) for length in shape)
        key = element_ty.name, lengths
        if any(type(length) is not int for length in lengths):
            method(self, element_ty, shape)  # says what is wrong with them
        elif key in known:
            vars(self).update(known[key])
        else:
            method(self, element_ty, shape)
            known[key] = {**vars(self)}

    return init


def _known_shape(method: Callable[..., None]) -> Callable[..., None]:
    """Keep what a tensor works out from its type."""
    known: dict[str, dict[str, Any]] = {}

    @functools.wraps(method)
    def init(self: Any, handle: Any, type: Any) -> None:
        if type.name not in known:
            method(self, handle, type)
            known[type.name] = {**vars(self)}
        vars(self).update(known[type.name], handle=handle, type=type)

    return init


def _for_python(patch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def patch_tensor(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))
        scope.set_attr(tensor, "__str__", lambda self: str(bf16.shown(self.handle)))
        scope.set_attr(tensor, "__repr__", lambda self: repr(bf16.shown(self.handle)))

    return patch_tensor


def _libdevice(_builder: Any, name: str, values: list[Any]) -> Any:
    """Compute a function of libdevice; a method of the builder, as other operations are."""
    return LIBDEVICE[name](*values)


def _of_numpy(name: str, interpreter: Any, tl: Any) -> Callable[..., Any]:
    """Return a function of libdevice as numpy computes it, or one that says it cannot."""
    handle, builder = interpreter.TensorHandle, interpreter.interpreter_builder

    def call(*args: Any) -> Any:
        blocks = [arg for arg in args if isinstance(arg, tl.tensor)]
        if name not in LIBDEVICE:
            raise NotImplementedError(f"libdevice.{name} runs on a GPU only")
        if any(block.dtype not in (tl.float32, tl.float64) for block in blocks):
            raise ValueError(
                f"libdevice.{name} takes float32 or float64: cast with .to(tl.float32)"
            )
        values = [arg.handle.data if isinstance(arg, tl.tensor) else arg for arg in args]
        kind = max((block.dtype for block in blocks), key=lambda dtype: dtype.primitive_bitwidth)
        computed = builder.create_libdevice(name, values)
        data = computed.astype(f"float{kind.primitive_bitwidth}")
        shape = np.broadcast_shapes(*(tuple(map(int, block.shape)) for block in blocks))
        return tl.tensor(handle(data, kind), tl.block_type(kind, [*shape]) if shape else kind)

    return call


def _counting(interpreter: Any, tl: Any) -> Callable[..., Any]:
    """Return ``range`` as compiled kernels have it: with a bound in int64 it counts in int64."""

    def wide(number: int) -> Any:
        return tl.tensor(interpreter.TensorHandle(np.array([number]), tl.int64), tl.int64)

    @functools.wraps(builtins.range)
    def count(*args: Any) -> Any:
        numbers = builtins.range(*args)
        if any(isinstance(arg, tl.tensor) and arg.dtype == tl.int64 for arg in args):
            return map(wide, numbers)
        return numbers

    return count


def _lanewise(name: str, operation: str, tl: Any) -> Callable[..., Any]:
    """Return ``min`` or ``max`` as compiled kernels have it: of tensors, lane by lane."""
    plain = getattr(builtins, name)

    @functools.wraps(plain)
    def extreme(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not any(isinstance(arg, tl.tensor) for arg in args):
            return plain(*args, **kwargs)
        return functools.reduce(getattr(tl, operation), args)

    return extreme
