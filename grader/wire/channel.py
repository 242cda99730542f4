"""The framing of messages, for both sides of the socket; ``codec`` says what is in one.

A frame is a JSON header and raw buffers. Buffers above 64 KiB go through an arena: a sealed memory
file that the judge makes, one for each direction. The two sides strictly alternate, so an arena is
free again when the other side has answered. Whatever arrives is copied before it is looked at. This
module trusts nothing that it reads: every count and size has a cap, so has what is kept of all the
messages together, and what breaks a rule raises ``WireError``.
"""

import array
import contextlib
import gc
import json
import mmap
import os
import select
import socket
import struct
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from grader.wire.errors import Closed, Late, Misfit, TooMuch, WireError

MAX_HEADER = 2 << 20  # bytes of JSON, which may take thirty times as much once it is read
MAX_BUFFERS = 20_000
MAX_FDS = 4  # with one message
MAX_OPERATORS = 300  # names that a reading of a probe tells
MAX_COLLECTIVES = 1000
CHUNK = 128 << 10  # bytes taken from the socket at a time
INLINE = 64 << 10  # bytes; larger buffers go through the arena
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
OOB_SECONDS = 0.001  # between two looks at a socket that says it is readable and is not
PREFIX = struct.Struct("!II")  # length of the header, bytes of inline buffers
SENDER = struct.Struct("iII")  # struct ucred: process, user, group; the kernel fills it in


def mapped(fd: int, size: int) -> mmap.mmap:
    """Map a memory file, or anonymous memory for -1, in huge pages where the kernel has them."""
    memory = mmap.mmap(fd, size)
    # Taking 4 KiB at a time costs more than the copy itself.
    with contextlib.suppress(OSError, AttributeError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Block(bytearray):
    """Bytes of which one can learn when they are let go."""

    __slots__ = ("__weakref__",)


def _tells_sender(sock: socket.socket) -> bool:
    """Ask the kernel to say who sends; return whether it will."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    except (OSError, AttributeError):
        return False
    return True


def _memory(tensor: Tensor) -> memoryview:
    return memoryview(cast(Any, tensor.numpy()))


class Channel:
    """One end of the conversation; ``outbox`` and ``inbox`` are arenas as this end sees them.

    ``holds`` limits the bytes of all buffers that came and are still in use here. ``now`` is the
    clock of the deadlines. With ``knows_sender`` the kernel says which process sent what arrived
    last: ``sender``, by its number here, 0 as long as that is not known. Behind each buffer that
    comes lie up to ``apart`` bytes of nobody's, no more than it has itself: who reads beyond one
    is not to land in the next.
    """

    __slots__ = (
        *("_sock", "_now", "_holds", "_held", "_freed", "fds", "_readable", "_writable", "_ahead"),
        *("_inbox", "_outbox", "_filled", "_sent", "_apart", "knows_sender", "sender"),
        "__weakref__",
    )

    def __init__(
        self,
        sock: socket.socket,
        inbox_fd: int,
        outbox_fd: int,
        *,
        takes_fds: bool = False,
        knows_sender: bool = False,
        holds: int | None = None,
        apart: int = 0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sock = sock
        self._apart = apart
        self._now = now
        self._holds = holds
        self._held = 0
        self._freed: deque[int] = deque()  # sizes; any thread may let go of a buffer
        # Descriptors that came with a message. Only a worker takes any: the kernel drops the rest.
        self.fds: list[int] | None = [] if takes_fds else None
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(sock, select.POLLIN)
        self._writable.register(sock, select.POLLOUT)
        self._ahead = memoryview(b"")  # received, not yet read
        self._inbox = memoryview(mapped(inbox_fd, os.fstat(inbox_fd).st_size))
        self._outbox = memoryview(mapped(outbox_fd, os.fstat(outbox_fd).st_size))
        self._filled = 0  # bytes of the inbox that the last message takes
        self._sent = 0  # bytes of the outbox that the last message took
        self.sender = 0
        self.knows_sender = knows_sender and _tells_sender(sock)

    def send(
        self,
        header: dict[str, Any],
        buffers: list[Tensor],
        deadline: float | None,
        fds: tuple[int, ...] = (),
    ) -> None:
        """Send a message of flat uint8 buffers.

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
                raise Misfit(f"a message may carry at most {len(self._outbox) >> 20} MiB")
            self._outbox[used : used + view.nbytes] = view
            places.append((view.nbytes, used))
            used += -(-view.nbytes // 64) * 64
        self._sent = used
        text = ENCODER.encode({**header, "buffers": places}).encode("ascii")
        if len(text) > MAX_HEADER:
            raise Misfit(f"a message may hold at most {MAX_HEADER >> 20} MiB beside its tensors")
        prefix = PREFIX.pack(len(text), sum(view.nbytes for view in inline))
        self._write(b"".join((prefix, text, *inline)), deadline, fds)

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
        self._hold(total)
        self._filled = max((size + offset for size, offset in places if offset >= 0), default=0)
        return [self._buffer(size, offset, deadline) for size, offset in places]

    def wipe(self) -> None:
        """Forget the last message, of which all has been copied, and the one that it answers."""
        self._inbox[: self._filled] = bytes(self._filled)
        self._outbox[: self._sent] = bytes(self._sent)
        self._filled = self._sent = 0
        if not self._ahead:
            self._ahead = memoryview(b"")  # else it keeps what it was a part of

    def _hold(self, size: int) -> None:
        """Count what is about to be copied, or raise TooMuch."""
        if self._holds is not None and self._in_use() + size > self._holds:
            gc.collect()  # an exception's frames may keep what nobody uses
            if self._in_use() + size > self._holds:
                limit = self._holds >> 20
                raise TooMuch(f"what the code gave takes more than the {limit} MiB that it may")
        self._held += size

    def _in_use(self) -> int:
        while self._freed:
            self._held -= self._freed.popleft()
        return self._held

    def _buffer(self, size: int, offset: int, deadline: float | None) -> Tensor:
        room = size + min(size, self._apart)
        memory = Block(room) if offset < 0 else mapped(-1, room)
        # Not at exit: by then nobody counts.
        weakref.finalize(memory, self._freed.append, size).atexit = False
        if offset < 0:
            self._read(memoryview(memory)[:size], deadline)
        else:
            memory[:size] = self._inbox[offset : offset + size]
        if not size:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(memory, dtype=torch.uint8, count=size)

    def _write(self, data: bytes, deadline: float | None, fds: tuple[int, ...] = ()) -> None:
        rest = memoryview(data)
        while rest:
            try:
                # The descriptors go with the first byte.
                rest, fds = rest[self._send(rest, fds) :], ()
            except BlockingIOError:
                self._wait(self._writable, deadline)
            except OSError:
                raise Closed("the connection closed") from None

    def _send(self, data: memoryview, fds: tuple[int, ...]) -> int:
        if not fds:
            return self._sock.send(data, socket.MSG_DONTWAIT)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))
        return self._sock.sendmsg([data], [rights], socket.MSG_DONTWAIT)

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
            if self.knows_sender:
                self._ahead = self._receive_from()
            elif self.fds is None:
                self._ahead = memoryview(self._sock.recv(CHUNK, socket.MSG_DONTWAIT))
            else:
                data, fds, _, _ = socket.recv_fds(self._sock, CHUNK, MAX_FDS)
                self._ahead = memoryview(data)
                self.fds.extend(fds)
        except BlockingIOError:
            # A byte sent out of band (MSG_OOB) looks readable and is not.
            time.sleep(OOB_SECONDS)
            return
        except OSError:
            raise Closed("the connection closed") from None
        if not self._ahead:
            raise Closed("the connection closed")

    def _receive_from(self) -> memoryview:
        """Take what has arrived from one process, and note which; descriptors find no room."""
        room = socket.CMSG_SPACE(SENDER.size)
        data, told, _, _ = self._sock.recvmsg(CHUNK, room, socket.MSG_DONTWAIT)
        for level, kind, value in told:
            # Of nothing, the end, nobody is the sender.
            if data and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self.sender = SENDER.unpack(value)[0] or self.sender
        return memoryview(data)

    def _wait(self, poll: select.poll, deadline: float | None) -> None:
        if deadline is None:
            poll.poll()
            return
        # The clock may have stood still meanwhile.
        while (left := deadline - self._now()) > 0:
            if poll.poll(left * 1000 + 1):
                return
        raise Late

    def close(self) -> None:
        """Close this end."""
        self._sock.close()
