"""Framing and the value codec, for both sides of the socket. No pickle anywhere.

A frame is a JSON header and raw buffers. Buffers above 64 KiB go through an arena: a sealed memory
file that the judge makes, one for each direction. The two sides strictly alternate, so an arena is
free again when the other side has answered. Whatever arrives is copied before it is looked at. This
module trusts nothing that it reads: every count, size and depth has a cap, and what breaks a rule
raises ``WireError``.
"""

import contextlib
import json
import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

MAX_HEADER = 8 << 20  # bytes of JSON
MAX_NODES = 400_000  # values in one message
MAX_DEPTH = 40
MAX_BUFFERS = 20_000
MAX_DIMS = 16
MAX_FDS = 4  # with one message
CHUNK = 128 << 10  # bytes taken from the socket at a time
INLINE = 64 << 10  # bytes; larger buffers go through the arena
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
PREFIX = struct.Struct("!II")  # length of the header, bytes of inline buffers

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
        *(torch.uint16, torch.uint32, torch.uint64, torch.bool),
    )
}


class WireError(Exception):
    """The other side sent what the protocol does not allow."""


class Closed(WireError):
    """The other side is gone."""


class Late(Exception):
    """The deadline passed."""


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


def mapped(fd: int, size: int) -> mmap.mmap:
    """Map a memory file, or anonymous memory for -1, in huge pages where the kernel has them."""
    memory = mmap.mmap(fd, size)
    # Taking 4 KiB at a time costs more than the copy itself.
    with contextlib.suppress(OSError, AttributeError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def as_bytes(tensor: Tensor) -> Tensor:
    """Return the elements of a CPU tensor, in order, as a flat uint8 tensor."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def whole_storage(tensor: Tensor) -> Tensor:
    """Return every byte of the storage under a tensor, as a flat uint8 view of it."""
    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return flat.set_(tensor.untyped_storage())  # pyright: ignore[reportArgumentType]


def _memory(tensor: Tensor) -> memoryview:
    return memoryview(cast(Any, tensor.numpy()))


class Channel:
    """One end of the conversation; ``outbox`` and ``inbox`` are arenas as this end sees them."""

    def __init__(
        self, sock: socket.socket, inbox_fd: int, outbox_fd: int, *, takes_fds: bool = False
    ) -> None:
        self._sock = sock
        # Descriptors that came with a message. Only a worker takes any: the kernel drops the rest.
        self.fds: list[int] | None = [] if takes_fds else None
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)
        self._ahead = memoryview(b"")  # received, not yet read
        self._inbox = memoryview(mapped(inbox_fd, os.fstat(inbox_fd).st_size))
        self._outbox = memoryview(mapped(outbox_fd, os.fstat(outbox_fd).st_size))

    def send(
        self,
        header: dict[str, Any],
        buffers: list[Tensor],
        deadline: float | None,
        fds: tuple[int, ...] = (),
    ) -> None:
        """Send a message of flat uint8 buffers; ``deadline`` is on the monotonic clock.

        ``fds`` are descriptors that the other side gets with it.
        """
        places: list[tuple[int, int]] = []
        inline: list[memoryview] = []
        used = 0
        for buffer in buffers:
            view = _memory(buffer)
            if view.nbytes <= INLINE:
                places.append((view.nbytes, -1))
                inline.append(view)
                continue
            if used + view.nbytes > len(self._outbox):
                raise ValueError(f"a message may carry at most {len(self._outbox) >> 20} MiB")
            self._outbox[used : used + view.nbytes] = view
            places.append((view.nbytes, used))
            used += -(-view.nbytes // 64) * 64
        text = ENCODER.encode({**header, "buffers": places}).encode("ascii")
        if len(text) > MAX_HEADER:
            raise ValueError(
                f"a message may hold at most {MAX_HEADER >> 20} MiB beside its tensors"
            )
        prefix = PREFIX.pack(len(text), sum(view.nbytes for view in inline))
        if fds:
            prefix = prefix[socket.send_fds(self._sock, [prefix], fds) :]
        self._write(b"".join((prefix, text, *inline)), deadline)

    def receive(self, deadline: float | None) -> tuple[dict[str, Any], list[Tensor]]:
        """Return the next message; its buffers are copies."""
        length, inline = PREFIX.unpack(self._read(bytearray(PREFIX.size), deadline))
        if length > MAX_HEADER or inline > MAX_BUFFERS * INLINE:
            raise WireError("an oversized message")
        text = self._read(bytearray(length), deadline)
        try:
            header = json.loads(text)
        except (ValueError, RecursionError):
            raise WireError("a message that is not JSON") from None
        if not isinstance(header, dict):
            raise WireError("a message without fields")
        places = header.pop("buffers", None)
        return header, self._buffers(places, inline, deadline)

    def _buffers(self, places: Any, inline: int, deadline: float | None) -> list[Tensor]:
        if not isinstance(places, list) or len(places) > MAX_BUFFERS:
            raise WireError("a malformed list of buffers")
        total = 0
        for place in places:
            if not (isinstance(place, list) and [type(n) for n in place] == [int, int]):
                raise WireError("a malformed buffer")
            size, offset = place
            inside = offset >= 0 and size > INLINE and offset + size <= len(self._inbox)
            if not (inside or (offset == -1 and 0 <= size <= INLINE)):
                raise WireError("a buffer outside its arena")
            total += size
        if total > len(self._inbox) or sum(n for n, at in places if at < 0) != inline:
            raise WireError("buffers that do not add up")
        return [self._buffer(size, offset, deadline) for size, offset in places]

    def _buffer(self, size: int, offset: int, deadline: float | None) -> Tensor:
        if offset < 0:
            copy = torch.empty(size, dtype=torch.uint8)
            self._read(_memory(copy), deadline)
            return copy
        memory = mapped(-1, size)
        memory[:] = self._inbox[offset : offset + size]
        return torch.frombuffer(memory, dtype=torch.uint8)

    def _write(self, data: bytes, deadline: float | None) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._sock.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait(self._writable, deadline)
            except OSError:
                raise Closed("the connection closed") from None

    def _read(self, into: Any, deadline: float | None) -> Any:
        rest = memoryview(into)
        while rest:
            if not self._ahead:
                self._fill(deadline)
            count = min(len(rest), len(self._ahead))
            rest[:count] = self._ahead[:count]
            rest, self._ahead = rest[count:], self._ahead[count:]
        return into

    def _fill(self, deadline: float | None) -> None:
        """Take what has arrived, mostly one message whole: a small call is two system calls."""
        self._wait(self._readable, deadline)
        try:
            if self.fds is None:
                self._ahead = memoryview(self._sock.recv(CHUNK))
            else:
                data, fds, _, _ = socket.recv_fds(self._sock, CHUNK, MAX_FDS)
                self._ahead = memoryview(data)
                self.fds += fds
        except OSError:
            raise Closed("the connection closed") from None
        if not self._ahead:
            raise Closed("the connection closed")

    def _wait(self, poll: select.poll, deadline: float | None) -> None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Late
        if not poll.poll(None if left is None else left * 1000 + 1):
            raise Late

    def close(self) -> None:
        """Close this end."""
        self._sock.close()


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
            raise ValueError("the value is nested too deeply or holds too many items")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and -(1 << 63) <= value < 1 << 63:
            return value
        if kind is float:
            finite = value == value and abs(value) != float("inf")
            return value if finite else {"f": repr(value)}
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
        dtype = str(tensor.dtype).removeprefix("torch.")
        return {"x": [len(self.buffers) - 1, dtype, list(tensor.shape), layout, device]}


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
            case _:
                return self._special(tag, body)

    def _pairs(self, body: Any, depth: int) -> dict[str, Any]:
        return {_text(key): self.unpack(item, depth + 1) for key, item in _list(body)}

    def _tensor(self, index: Any, dtype: Any, shape: Any, layout: Any, device: Any) -> Any:
        if type(index) is not int or index < 0:
            raise WireError("a tensor without a buffer")
        sizes = _sizes(shape)
        raw = self._unused.pop(index)
        flat = (raw != 0) if dtype == "bool" else raw.view(DTYPES[dtype])
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
