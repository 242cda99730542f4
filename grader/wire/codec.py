"""Values as a JSON tree and flat buffers, for both sides of the wire. No pickle anywhere.

A tree names each kind by a tag of one letter; what is not plain is left to the side that packs or
unpacks. Nothing that is read is trusted: items, depth and dimensions have caps, a buffer makes one
tensor only, and what breaks a rule raises ``WireError``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader.wire.errors import Misfit, WireError
from grader.wire.storage import as_bytes, whole_storage

MAX_NODES = 100_000  # values in one message
MAX_ROWS = 100_000  # of a tensor without elements: ahead of the 0 in its shape
MAX_EMPTY = 1 << 32  # the other sizes of that shape, multiplied
MAX_DEPTH = 40
MAX_DIMS = 16

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
        *(torch.uint16, torch.uint32, torch.uint64, torch.bool),
    )
}


def dtype_name(tensor: Tensor) -> str:
    """Return what ``DTYPES`` has the dtype of a tensor as."""
    return str(tensor.dtype).removeprefix("torch.")


@dataclass(frozen=True, slots=True)
class Record:
    """An instance of a dataclass of the given code, by name; its fields read as attributes."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None


class Packer:
    """Turn a value into a JSON tree and buffers; ``special`` may answer for what is not plain."""

    def __init__(self, special: Callable[[Any], Any]) -> None:
        self._special = special
        self.buffers: list[Tensor] = []
        self._nodes = 0

    def pack(self, value: Any, depth: int = 0) -> Any:
        """Return the tree of ``value``; its tensors are appended to ``buffers``."""
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise Misfit("the value is nested too deeply or holds too many items")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and -(1 << 63) <= value < 1 << 63:
            return value
        if isinstance(value, float):  # numpy's float64 is one too
            number = float(value)
            return number if math.isfinite(number) else {"f": repr(number)}
        if kind is list:
            return [self.pack(item, depth + 1) for item in value]
        if isinstance(value, tuple):
            return {"t": [self.pack(item, depth + 1) for item in value]}
        if isinstance(value, dict) and all(type(key) is str for key in value):
            return {"d": [[key, self.pack(item, depth + 1)] for key, item in value.items()]}
        if kind is torch.dtype:
            return {"y": str(value).removeprefix("torch.")}
        if kind is torch.device:
            return {"v": str(value)}
        if isinstance(value, Record):
            return {
                "r": [value.name, [[k, self.pack(v, depth + 1)] for k, v in value.fields.items()]]
            }
        return self._special(value)

    def tensor(self, tensor: Tensor, *, whole: bool, device: str = "cpu") -> Any:
        """Pack a dense CPU tensor; ``whole`` sends its storage: a view arrives as a view."""
        if whole:
            self.buffers.append(whole_storage(tensor))
            layout = [list(tensor.stride()), tensor.storage_offset()]
        else:
            self.buffers.append(as_bytes(tensor))
            layout = None
        shape = list(tensor.shape)
        return {"x": [len(self.buffers) - 1, dtype_name(tensor), shape, layout, device]}


class Unpacker:
    """Turn a tree and its buffers into a value; ``special`` answers for tags that are not plain."""

    def __init__(
        self, buffers: list[Tensor], special: Callable[[str, Any], Any], *, views: bool = False
    ) -> None:
        # Each makes one tensor: a copy for every mention would fill the judge's memory.
        self._unused = dict(enumerate(buffers))
        self._special = special
        # A view may claim a million rows of one byte: only the judge may send one.
        self._views = views
        self._nodes = 0

    def unpack(self, tree: Any, depth: int = 0) -> Any:
        """Return the value of a tree, or raise WireError."""
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise WireError("a value that is nested too deeply or holds too many items")
        if tree is None or isinstance(tree, bool | str | float):
            return tree
        if isinstance(tree, int):
            if not -(1 << 63) <= tree < 1 << 63:
                raise WireError("an integer of more than 64 bits")
            return tree
        if isinstance(tree, list):
            return [self.unpack(item, depth + 1) for item in tree]
        if not isinstance(tree, dict) or len(tree) != 1:
            raise WireError("an unknown kind of value")
        ((tag, body),) = tree.items()
        try:
            return self._tagged(tag, body, depth)
        except (TypeError, ValueError, KeyError, IndexError, RuntimeError, AttributeError):
            raise WireError("a malformed value") from None

    def _tagged(self, tag: str, body: Any, depth: int) -> Any:
        match tag:
            case "f":
                return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[body]
            case "t":
                return tuple(self.unpack(item, depth + 1) for item in _list(body))
            case "d":
                return self._pairs(body, depth)
            case "y":
                return DTYPES[body]
            case "v":
                return torch.device(body)
            case "r":
                name, pairs = body
                return self._special("r", (_text(name), self._pairs(pairs, depth)))
            case "x":
                return self._tensor(*body)
            case "w":
                return self._special("w", self.unpack(body, depth + 1))
            case "z":
                values, strides = body
                return self._special("z", (self.unpack(values, depth + 1), _sizes(strides)))
            case "m":
                true, seen = body
                return self._special(
                    "m", (self.unpack(true, depth + 1), self.unpack(seen, depth + 1))
                )
            case _:
                return self._special(tag, body)

    def _pairs(self, body: Any, depth: int) -> dict[str, Any]:
        return {_text(key): self.unpack(item, depth + 1) for key, item in _list(body)}

    def _tensor(self, index: Any, dtype: Any, shape: Any, layout: Any, device: Any) -> Any:
        if type(index) is not int or index < 0:
            raise WireError("a tensor without a buffer")
        sizes = _sizes(shape)
        if 0 in sizes:
            _assert_few_rows(sizes)
        raw = self._unused.pop(index)
        # In place: of a large tensor there is no second copy.
        flat = raw.clamp_(max=1).view(torch.bool) if dtype == "bool" else raw.view(DTYPES[dtype])
        if layout is None:
            # reshape refuses a shape that does not fit; "-1" cannot occur.
            tensor = flat.reshape(sizes)
        elif not self._views:
            raise WireError("a tensor with strides")
        else:
            strides, offset = layout
            tensor = flat.as_strided(sizes, _sizes(strides), offset)
        return self._special("x", (tensor, _text(device)))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise WireError("a malformed value")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WireError("a malformed value")
    return value


def _sizes(value: Any) -> list[int]:
    sizes = _list(value)
    if len(sizes) > MAX_DIMS or any(type(n) is not int or n < 0 for n in sizes):
        raise WireError("a malformed shape")
    return sizes


def _assert_few_rows(sizes: list[int]) -> None:
    """Refuse an empty tensor that claims a shape which nobody could walk through."""
    rows = math.prod(sizes[: sizes.index(0)])
    if rows > MAX_ROWS or math.prod(n for n in sizes if n) > MAX_EMPTY:
        raise WireError("a tensor of too many empty rows")
