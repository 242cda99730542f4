"""What one worker tells another: a JSON header and raw buffers, one after the other, one way.

The worker of a submission tells the device what to do; nothing comes back but a number where the
judge lets one. Whoever reads trusts nothing: sizes have caps, and what breaks a rule raises
``WireError``.
"""

import contextlib
import json
import select
import socket
import struct
from typing import Any, cast

import torch
from torch import Tensor

from grader.wire.channel import ENCODER, MAX_BUFFERS, MAX_HEADER
from grader.wire.errors import Closed, WireError

MAX_BYTES = 256 << 20  # of the buffers of one message
PREFIX = struct.Struct("!IQ")  # bytes of the header, and of all buffers


class Link:
    """One end."""

    __slots__ = ("_sock",)

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, header: dict[str, Any], buffers: list[Tensor] | None = None) -> None:
        """Send a message of flat uint8 buffers; raises WireError if nobody takes it."""
        views = [memoryview(cast(Any, buffer.numpy())) for buffer in buffers or ()]
        text = ENCODER.encode({**header, "sizes": [view.nbytes for view in views]}).encode("ascii")
        prefix = PREFIX.pack(len(text), sum(view.nbytes for view in views))
        try:
            self._sock.sendall(prefix + text)
            for view in views:
                self._sock.sendall(view)
        except OSError:
            raise Closed("the other side is gone") from None

    def has_come(self, wait: int | None = 0) -> bool:
        """Wait, at most so many milliseconds, until something can be read, also an end."""
        poll = select.poll()
        try:
            poll.register(self._sock.fileno(), select.POLLIN)
        except ValueError:  # it is closed
            return False
        return bool(poll.poll(wait))

    def receive(self) -> tuple[dict[str, Any], list[Tensor]]:
        """Return the next message."""
        length, total = PREFIX.unpack(self._read(PREFIX.size))
        if length > MAX_HEADER or total > MAX_BYTES:
            raise WireError("an oversized message")
        try:
            header = json.loads(self._read(length))
        except (ValueError, RecursionError):
            raise WireError("a message that is not JSON") from None
        sizes = header.pop("sizes", None) if isinstance(header, dict) else None
        if not isinstance(sizes, list) or len(cast(list[Any], sizes)) > MAX_BUFFERS:
            raise WireError("a malformed message")
        known = [size for size in cast(list[Any], sizes) if type(size) is int and size >= 0]
        if len(known) != len(cast(list[Any], sizes)) or sum(known) != total:
            raise WireError("buffers that do not add up")
        return cast(dict[str, Any], header), [self._buffer(size) for size in known]

    def _buffer(self, size: int) -> Tensor:
        if not size:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(self._read(size), dtype=torch.uint8)

    def _read(self, size: int) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            try:
                count = self._sock.recv_into(rest)
            except OSError:
                count = 0
            if not count:
                raise Closed("the other side is gone")
            rest = rest[count:]
        return data

    def close(self) -> None:
        """Close this end, whoever waits for it."""
        with contextlib.suppress(OSError):  # it is closed
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
