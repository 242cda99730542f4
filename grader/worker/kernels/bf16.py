"""bf16 in Triton's interpreter: by value, where Triton 3.6 to 3.9 compute with bit patterns.

numpy has no bf16, so the interpreter keeps such values as ``uint16``. Left alone, ``tl.dot``,
arithmetic, comparisons, reductions and constants of bf16 are garbage, a cast to bf16 cuts off where
a GPU rounds to nearest even, and one from an integer keeps the integer's bits. Here operands are
widened to fp32 and each result is rounded once, as a GPU does it. fp8 is left as it is.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

ARITHMETIC = ("binary_op", "unary_op", "ternary_op", "create_fma")


def widen(bits: Any) -> Any:
    """Return the fp32 values of bf16 bit patterns."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def narrow(values: Any) -> Any:
    """Return the bit patterns of the bf16 values that are nearest, ties to even."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # Rounding could carry the payload of a NaN into its sign: that of a NaN is cut off, made quiet.
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def shown(handle: Any) -> Any:
    """Return what a handle holds as ``print`` should show it: numbers, not bit patterns."""
    return widen(handle.data) if handle.dtype.scalar.name == "bf16" else handle.data


class Mend:
    """Methods for bf16, put in the place of the interpreter's own."""

    def __init__(self) -> None:
        self.interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self.tl: Any = importlib.import_module("triton.language")

    def apply(self) -> None:
        """Replace the methods; the classes are Triton's, so this holds for every kernel."""
        builder = self.interpreter.InterpreterBuilder
        for name in ARITHMETIC:
            setattr(builder, name, self._computing(getattr(builder, name)))
        builder.create_dot = self._dot(builder.create_dot)
        builder.create_print = self._print(builder.create_print)
        builder.cast_impl = self._cast(builder.cast_impl)
        builder.create_fp_to_fp = self._convert(builder.create_fp_to_fp)
        builder.create_atomic_rmw = self._atomic(builder.create_atomic_rmw)
        if not hasattr(builder, "get_bf16"):  # Triton 3.6
            builder.get_bf16 = lambda _self, value: self._handle(value)
        for name in ("sum", "min_max"):
            self._mend_reduction(self.interpreter.ReduceOps, name)
        for name in ("cumsum", "cumprod"):
            self._mend_reduction(self.interpreter.ScanOps, name)

    def _is_bf16(self, value: Any) -> bool:
        known = isinstance(value, self.interpreter.TensorHandle)
        return known and value.dtype.scalar == self.tl.bfloat16

    def _handle(self, values: Any) -> Any:
        """Return the handle of fp32 values, rounded to bf16."""
        return self.interpreter.TensorHandle(narrow(np.atleast_1d(values)), self.tl.bfloat16)

    def _wide(self, value: Any) -> Any:
        """Return a bf16 handle as one of fp32, and anything else as it is."""
        if not self._is_bf16(value):
            return value
        return self.interpreter.TensorHandle(widen(value.data), self.tl.float32)

    def _narrow(self, value: Any) -> Any:
        """Return a handle of fp32 values, computed from bf16, as one of bf16."""
        handle = self.interpreter.TensorHandle
        if value.data.dtype == np.bool_:  # a comparison
            return handle(value.data, self.tl.int1)
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

    def _print(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def show(builder: Any, prefix: str, hex: bool, values: Any, *rest: Any) -> Any:
            wide = values if hex else [self._wide(value) for value in values]
            return method(builder, prefix, hex, wide, *rest)

        return show

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

    def _atomic(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the atomic operations: of bf16 there is only the sum, and one thread to do it."""
        memory, bits = self.interpreter._interpreter, np.dtype(np.uint16)

        @functools.wraps(method)
        def atomic(builder: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any) -> Any:
            if not self._is_bf16(val):
                return method(builder, op, ptr, val, mask, *rest)
            before = np.zeros(ptr.data.shape, bits)
            masks = np.broadcast_to(mask.data, ptr.data.shape)
            values = widen(np.broadcast_to(val.data, ptr.data.shape))
            for index in np.ndindex(*ptr.data.shape):
                where, here = ptr.data[index].reshape(1), masks[index].reshape(1)
                old = memory.load(where, here, np.zeros(1, bits), bits)
                memory.store(where, narrow(widen(old) + values[index]), here)
                before[index] = old[0]
            return self.interpreter.TensorHandle(before, self.tl.bfloat16)

        return atomic

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
