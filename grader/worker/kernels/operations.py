"""Operations that Triton's interpreter lacks or gets wrong, and that a GPU has.

A cast to fp8 rounds to nearest even and ends at the largest number, where the interpreter lets a
carry run into the exponent; ``atomic_xchg`` takes floats; descriptors have atomics;
``map_elementwise`` calls its function lane by lane. What only a GPU has is refused in a sentence.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

FP8 = {  # torch's formats by Triton's names
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
KINDS = {"fp32": "int32", "fp64": "int64"}  # an exchange moves bits


def apply() -> None:
    """Put the operations into the interpreter, once for all kernels of the process."""
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    tl: Any = importlib.import_module("triton.language")
    ir: Any = importlib.import_module("triton._C.libtriton").ir
    builder = interpreter.InterpreterBuilder
    builder.create_fp_to_fp = _rounding(builder.create_fp_to_fp, interpreter, ir)
    builder.create_atomic_rmw = _exchanging(builder.create_atomic_rmw, interpreter, tl)
    if not hasattr(builder, "create_descriptor_reduce"):
        builder.create_descriptor_reduce = _reducing(ir)
    builder.create_inline_asm = _inline_asm
    if hasattr(tl, "map_elementwise"):
        tl.core.map_elementwise = tl.map_elementwise = _mapping(interpreter, tl)


def _rounding(method: Callable[..., Any], interpreter: Any, ir: Any) -> Callable[..., Any]:
    """Wrap the casts between floats: those to fp8 are torch's, and end as a GPU's do."""

    @functools.wraps(method)
    def convert(builder: Any, src: Any, kind: Any, rounding: Any) -> Any:
        target, source = FP8.get(kind.scalar.name), src.dtype.scalar
        cut = rounding == ir.ROUNDING_MODE.RTZ
        if target is None or source.primitive_bitwidth < 16 or cut:
            return method(builder, src, kind, rounding)
        data = src.data
        if source.name == "bf16":
            data = (data.astype(np.uint32) << 16).view(np.float32)
        values = torch.from_numpy(np.ascontiguousarray(data))
        most = torch.finfo(target).max
        bits = values.clamp(-most, most).to(target).view(torch.uint8).numpy()
        return interpreter.TensorHandle(bits.reshape(data.shape), kind.scalar)

    return convert


def _exchanging(method: Callable[..., Any], interpreter: Any, tl: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def atomic(builder: Any, op: Any, ptr: Any, val: Any, *rest: Any) -> Any:
        kind = KINDS.get(val.dtype.scalar.name)
        if kind is None or not str(op).upper().endswith("XCHG"):
            return method(builder, op, ptr, val, *rest)
        bits = interpreter.TensorHandle(val.data.view(kind), getattr(tl, kind))
        old = method(builder, op, ptr, bits, *rest)
        return interpreter.TensorHandle(old.data.view(val.data.dtype), val.dtype.scalar)

    return atomic


def _reducing(ir: Any) -> Callable[..., None]:
    """Return the atomics of descriptors: those of the pointers that a descriptor stands for."""

    def reduce(builder: Any, kind: Any, desc: Any, value: Any, indices: Any) -> None:
        name, scalar = str(kind).rpartition(".")[2].upper(), value.dtype.scalar
        if scalar.is_floating():
            if name != "ADD":
                raise NotImplementedError(f"atomic {name.lower()} of floats runs on a GPU only")
            name = "FADD"
        elif scalar.is_int_unsigned() and name in ("MAX", "MIN"):
            name = f"U{name}"
        ptrs, mask = desc.materialize_pointers(indices)
        operation = getattr(ir.ATOMIC_OP, name)
        order = ir.MEM_SEMANTIC.RELAXED, ir.MEM_SYNC_SCOPE.GPU
        builder.create_atomic_rmw(operation, ptrs, value, mask, *order)

    return reduce


def _inline_asm(*_args: Any) -> Any:
    raise NotImplementedError(
        "inline assembly runs on a GPU only: write it in Triton, or guard it by tl.target_info"
    )


def _mapping(interpreter: Any, tl: Any) -> Callable[..., Any]:
    """Return ``tl.map_elementwise``: its function is called on ``pack`` lanes at a time."""

    def scalar(arg: Any, value: Any) -> Any:
        handle = interpreter.TensorHandle(np.array([value]), arg.type.scalar)
        return tl.tensor(handle, arg.type.scalar)

    @tl.core.builtin
    def map_elementwise(
        scalar_fn: Callable[..., Any],
        *args: Any,
        pack: Any = 1,
        _semantic: Any = None,
        _generator: Any = None,
    ) -> Any:
        pack, single = int(getattr(pack, "value", pack)), True
        blocks = _semantic.broadcast_tensors(*args)
        values = [block.handle.data.ravel() for block in blocks]
        found: list[list[Any]] = []
        for first in range(0, len(values[0]), pack):
            turns = range(first, first + pack)
            pairs = zip(blocks, values, strict=True)
            results = scalar_fn(*(scalar(block, own[n]) for block, own in pairs for n in turns))
            single = isinstance(results, tl.tensor)
            found.append([results] if single else [*results])
        shape, places = blocks[0].shape, range(0, len(found[0]), pack)
        out = [_joined(found, pack, place, shape, interpreter, tl) for place in places]
        return out[0] if single else tl.tuple(out)

    return map_elementwise


def _joined(found: Any, pack: int, place: int, shape: Any, interpreter: Any, tl: Any) -> Any:
    """Return one result of all calls as a block."""
    kind = found[0][place].type.scalar
    lanes = [result.handle.data.item() for turn in found for result in turn[place : place + pack]]
    sizes = [int(size) for size in shape]
    data = np.array(lanes, found[0][place].handle.data.dtype).reshape(sizes)
    return tl.tensor(interpreter.TensorHandle(data, kind), tl.block_type(kind, sizes))
