"""Recorded launches of kernels: which of them a compiler takes for one, and how large they are."""

import math
from typing import Any, cast

import torch

WIDTHS = {
    str(dtype).removeprefix("torch."): dtype.itemsize
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype)
}  # bytes of an element
POWERS = frozenset(1 << exponent for exponent in range(17))  # what blocks are


def specialisation(launch: dict[str, Any]) -> str:
    """Return what tells launches apart that Triton compiles each by itself.

    By name a number may be a ``tl.constexpr`` or an option: each value counts. By place it counts
    as Triton takes it, unless it could be one, too: 1, a multiple of 16, small or neither.
    """
    return f"{options(launch)} {[_kind(value) for value in launch['args']]}"


def options(launch: dict[str, Any]) -> str:
    """Return the kernel, the dtypes of its tensors, and what was passed by name."""
    dtypes = [value[1:2] for value in launch["args"] if value[0] == "tensor"]
    named = {name: _named(value) for name, value in launch["kwargs"].items()}
    return str((launch["kernel"], launch["line"], dtypes, named))


def _named(value: Any) -> Any:
    """Tell tensors apart as by place, and all else by its value."""
    return _kind(value) if value[0] == "tensor" else value


def extent(launch: dict[str, Any]) -> float:
    """Return how large a launch's tensors are, each by the order of magnitude of its bytes.

    Where one alone is large, such as a pool of blocks, or reaches far by its strides, most of it is
    not touched.
    """
    values = [*launch["args"], *launch["kwargs"].values()]
    return sum(math.log2(1 + _size(value)) for value in values)


def _kind(value: Any) -> Any:
    match value:
        case ["tensor", dtype, _, offset, *_]:
            return [dtype, offset == 0]
        case ["float", _]:
            return "float"
        case ["tuple", list(items)]:
            return [_kind(item) for item in items]  # pyright: ignore[reportUnknownVariableType]
        case ["value", int(number)] if number > 1 and type(number) is int:
            return [number % 16 == 0, number >= 1 << 31, number if number in POWERS else 0]
        case _:
            return value


def _size(value: Any) -> int:
    match value:
        case ["tensor", str(dtype), list(shape), _, int(size)]:
            return min(math.prod(cast(list[int], shape)) * WIDTHS.get(dtype, 1), size)
        case _:
            return 0
