"""Triton in a worker: imported before the submission, and mended where its interpreter is wrong.

numpy has no bf16, so the interpreter keeps such values as ``uint16`` and, in Triton 3.6 to 3.9,
computes with these bit patterns: ``tl.dot``, arithmetic, comparisons and reductions of bf16 are
garbage, and a cast to bf16 cuts off where a GPU rounds to nearest even. Here the operands are
widened to fp32 and the result is rounded once, as a GPU does it.
"""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ARITHMETIC = ("binary_op", "unary_op", "ternary_op", "create_fma")


def prepare(device: str) -> None:
    """Import Triton, so that no submission waits for it; "cpu" means its interpreter."""
    importlib.import_module("triton.language")
    if device == "cpu":
        Mend().apply()
    else:
        # Builds Triton's own part of the driver, once for each worker's empty cache.
        importlib.import_module("triton.runtime").driver.active.utils  # noqa: B018


def widen(bits: Any) -> Any:
    """Return the fp32 values of bf16 bit patterns."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def narrow(values: Any) -> Any:
    """Return the bit patterns of the bf16 values that are nearest, ties to even."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding could carry the payload of a NaN into the sign; the upper half keeps a quiet one.
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


class Mend:
    """The interpreter's methods for bf16, put in the place of its own."""

    def __init__(self) -> None:
        self.interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self.tl: Any = importlib.import_module("triton.language")

    def apply(self) -> None:
        """Replace the methods; the classes are Triton's, so this holds for every kernel."""
        builder = self.interpreter.InterpreterBuilder
        for name in ARITHMETIC:
            setattr(builder, name, self._computing(getattr(builder, name)))
        builder.create_dot = self._dot(builder.create_dot)
        builder.cast_impl = self._cast(builder.cast_impl)
        builder.create_fp_to_fp = self._convert(builder.create_fp_to_fp)
        if not hasattr(builder, "get_bf16"):  # Triton 3.6: no constants of that type
            builder.get_bf16 = lambda _self, value: self._handle(value)
        for name in ("sum", "min_max"):
            self._mend_reduction(self.interpreter.ReduceOps, name)
        for name in ("cumsum", "cumprod"):
            self._mend_reduction(self.interpreter.ScanOps, name)
        # Without a GPU nothing can be timed: every configuration is as good as the first.
        tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
        tuner._bench = lambda *_args, **_kwargs: [0.0, 0.0, 0.0]
        # Lanes that a mask hides may compute inf - inf: no business of the student's.
        ours = r"triton\.runtime\.interpreter|grader\.interpreter"
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=ours)

    def _is_bf16(self, value: Any) -> bool:
        return hasattr(value, "dtype") and value.dtype.scalar == self.tl.bfloat16

    def _handle(self, values: Any) -> Any:
        """Return the handle of fp32 values, rounded to bf16."""
        return self.interpreter.TensorHandle(narrow(np.atleast_1d(values)), self.tl.bfloat16)

    def _wide(self, value: Any) -> Any:
        """Return a bf16 handle as one of fp32, and anything else as it is."""
        if not (isinstance(value, self.interpreter.TensorHandle) and self._is_bf16(value)):
            return value
        return self.interpreter.TensorHandle(widen(value.data), self.tl.float32)

    def _narrow(self, value: Any) -> Any:
        """Return a handle of fp32 values, computed from bf16, as one of bf16."""
        handle = self.interpreter.TensorHandle
        if value.data.dtype != np.float32:  # a comparison
            return handle(value.data, self.tl.bfloat16)
        return handle(narrow(value.data), self.tl.bfloat16)

    def _computing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def compute(builder: Any, *args: Any) -> Any:
            wide = [self._wide(arg) for arg in args]
            same = all(after is before for after, before in zip(wide, args, strict=True))
            out = method(builder, *wide)
            return out if same else self._narrow(out)

        return compute

    def _dot(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
            return method(builder, self._wide(a), self._wide(b), *rest)

        return dot

    def _cast(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def cast(builder: Any, src: Any, kind: Any) -> Any:
            if not self._is_bf16(src) and kind.scalar != self.tl.bfloat16:
                return method(builder, src, kind)
            wide = self._wide(src)
            if kind.scalar != self.tl.bfloat16:
                return method(builder, wide, kind)
            return self._narrow(method(builder, wide, self.tl.float32))

        return cast

    def _convert(self, method: Callable[..., Any]) -> Callable[..., Any]:
        cut = importlib.import_module("triton._C.libtriton").ir.ROUNDING_MODE.RTZ

        @functools.wraps(method)
        def convert(builder: Any, src: Any, kind: Any, rounding: Any) -> Any:
            ends = (src.dtype.scalar, kind.scalar)
            small = any(end.primitive_bitwidth < 16 for end in ends)  # fp8: left as it is
            if self.tl.bfloat16 not in ends or small or rounding == cut:
                return method(builder, src, kind, rounding)
            return builder.cast_impl(src, kind)

        return convert

    def _mend_reduction(self, owner: Any, name: str) -> None:
        """Widen what numpy reduces in one go: here the argument is a tensor, not a handle."""
        method = getattr(owner, name)

        @functools.wraps(method)
        def reduce(operation: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if tensor.dtype != self.tl.bfloat16:
                return method(operation, tensor, *args, **kwargs)
            wide = self._retyped(tensor, self._wide(tensor.handle))
            out = method(operation, wide, *args, **kwargs)
            if isinstance(out, tuple | list):
                return type(out)(map(self._rounded, out))
            return self._rounded(out)

        setattr(owner, name, reduce)

    def _rounded(self, tensor: Any) -> Any:
        if tensor.dtype != self.tl.float32:  # the index of a maximum
            return tensor
        return self._retyped(tensor, self._narrow(tensor.handle))

    def _retyped(self, tensor: Any, handle: Any) -> Any:
        shape = [int(size) for size in tensor.shape]
        kind = self.tl.block_type(handle.dtype, shape) if shape else handle.dtype
        return self.tl.tensor(handle, kind)
