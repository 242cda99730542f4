"""Both ends of a conversation in which the worker is bytes that were made up, and what may come.

``converse`` is the judge's part, always the same; ``record`` runs it against a real worker and
returns what that one sent, frame by frame.
"""

import contextlib
import os
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import torch
from stand_ins.threaded import SOURCE, Thread, serve_source

from grader.errors import SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.values import Proxy
from grader.sandbox.pace import PACE
from grader.wire.channel import PREFIX, Channel
from grader.wire.codec import MAX_NODES, Record

SECONDS = 0.5  # of a call; one that the worker leaves open costs as much
ARENA = 1 << 20  # of a Thread
WHOLE = {"value": 9, "StudentError": 2}  # how the steps of ``converse`` end with a real worker
PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.device)


class Model:
    """An object that is lent: it takes anything, and knows whether it was lent when it was used."""

    width = 7

    def __init__(self) -> None:
        self.is_lent = False

    def __call__(self, x: Any) -> Any:
        assert self.is_lent, "used after the call that it was lent to"
        assert_plain(x)
        return torch.ones(2)


def converse(talk: Conversation) -> Counter[str]:
    """Use everything that a test can use; count how the steps ended."""
    model, seen = Model(), Counter[str]()
    lent = Loan(model, ("__call__",), ("width",), keep=False)
    loans = {"use", "attribute", "swallow"}

    def call(name: str, *args: Any) -> Any:
        model.is_lent = name in loans
        try:
            return talk.call(["function", name], args, {})
        finally:
            model.is_lent = False

    def probe() -> Any:
        with talk.probe("flops", {}) as reading:
            call("multiply", torch.ones(3, 5), torch.ones(5, 7))
        return reading

    def nested(box: Any) -> int:
        return 1 if not isinstance(box, Proxy) else int(assert_plain(box.get()) is None)

    watched = Watched(torch.arange(12.0).reshape(3, 4)[:, 1:3])
    steps: list[Callable[[], Any]] = [
        lambda: call("echo", torch.ones(3, 4), [1, (2.5, None)], {"a": torch.int8}),
        lambda: call("same", torch.arange(30_000.0)),  # through the arena
        lambda: call("same", Record("Config", {"width": 3})),
        lambda: call("use", lent, [1, torch.ones(2)]),
        lambda: call("attribute", lent, "width"),
        lambda: call("swallow", lent, 2),
        lambda: call("hand_over", Loan(nested, ("__call__",), (), keep=False)),
        lambda: call("bad"),
        lambda: call("same", watched),
        probe,
        lambda: use_box(call("Box", 4)),
    ]
    for step in steps:
        try:
            assert_plain(step())
            seen["value"] += 1
        except SubmissionFault as fault:
            seen[type(fault).__name__] += 1
            str(fault).encode("utf-8", "backslashreplace")
    return seen


def use_box(box: Any) -> Any:
    """Use an object of the worker, if it is one."""
    return [box.get(), box.value, box(3)] if isinstance(box, Proxy) and "get" in box.methods_ else 0


def assert_plain(value: Any) -> Any:
    """Fail unless a value is made of what the wire may bring, and no more of it than it may."""
    todo, count = [value], 0
    while todo:
        item = todo.pop()
        count += 1
        assert count <= 3 * MAX_NODES
        if type(item) in (list, tuple):
            todo += item
        elif type(item) is dict:
            assert all(type(key) is str for key in item)
            todo += item.values()
        elif type(item) is Record:
            assert type(item.name) is str
            todo.append(item.fields)
        elif type(item) is torch.Tensor:
            assert item.device.type == "cpu"
            assert item.is_contiguous()
            assert item.untyped_storage().nbytes() <= ARENA
            assert type(item.seen_on) is str  # type: ignore[attr-defined]
        elif type(item) is Proxy:
            assert type(item.number_) is int
            assert type(item.kind_) is str
            repr(item)
        else:
            assert type(item) in PLAIN, type(item)
    return value


def record() -> list[bytes]:
    """Return the frames that a real worker sends in ``converse``."""
    worker, frames = Thread(serve_source), list[bytes]()
    fill = Channel._fill
    stream = bytearray()

    def tap(self: Channel, deadline: float | None) -> None:
        fill(self, deadline)
        if self is worker.channel:
            stream.extend(self._ahead)

    # Time to spare: what is recorded must be whole.
    with patch.object(Channel, "_fill", tap):
        seen = converse(Conversation(worker, "cpu", Clock(60), SOURCE))  # type: ignore[arg-type]
    worker.join()
    assert seen == WHOLE, seen
    while stream:
        size = PREFIX.size + sum(PREFIX.unpack_from(stream))
        frames.append(bytes(stream[:size]))
        del stream[:size]
    return frames


def play(pieces: Sequence[bytes], seed: int = 0, oob: int = -1) -> Counter[str]:
    """Let a worker send the pieces whatever it is asked, then hang up; return how it went.

    Its arena holds noise. ``oob`` is the piece after which a byte comes out of band.
    """
    noise = random.Random(seed).randbytes(1 << 16)

    def serve(sock: socket.socket, arenas: tuple[int, int]) -> None:
        for at in range(0, ARENA, len(noise)):
            os.pwrite(arenas[1], noise, at)
        drain = threading.Thread(target=swallow, args=(sock,), daemon=True)
        drain.start()
        for index, piece in enumerate(pieces):
            sock.sendall(piece)
            if index == oob:
                sock.send(b"!", socket.MSG_OOB)
        sock.shutdown(socket.SHUT_WR)
        drain.join()

    worker = Thread(serve)
    talk = Conversation(worker, "cpu", Clock(SECONDS), SOURCE)  # type: ignore[arg-type]
    PACE.watch(os.getpid())  # what a busy machine adds does not count
    started = PACE.now()
    try:
        return converse(talk)
    finally:
        worker.join()
        PACE.forget(os.getpid())
        # One deadline, after which the worker is dead.
        assert PACE.now() - started < 20 * SECONDS


def swallow(sock: socket.socket) -> None:
    """Read all that the judge sends."""
    with contextlib.suppress(OSError):
        while sock.recv(1 << 16):
            pass
