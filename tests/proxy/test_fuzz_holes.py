"""What fuzzing and reading found: a worker, or a file, that did this hurt the judge."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from stand_ins.threaded import SOURCE, Thread

from grader.errors import Mismatch, StudentCrashed, StudentMemory, StudentTimeout
from grader.judge.plugin import verdicts
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.loans.loans import Loan
from grader.proxy.ranks import ranks
from grader.proxy.ranks.ranks import RankSandbox
from grader.wire.channel import PREFIX, Channel
from grader.wire.codec import MAX_ROWS, Unpacker
from grader.wire.errors import Closed, Late, WireError
from grader.wire.memory import SharedMemory

ARENA = 1 << 20  # of a Thread, and what its messages may hold
Serve = Callable[[socket.socket, tuple[int, int]], None]


@contextmanager
def talking(serve: Serve, seconds: float = 10.0) -> Iterator[Conversation]:
    worker = Thread(serve)
    try:
        yield Conversation(worker, "cpu", Clock(seconds), SOURCE)  # type: ignore[arg-type]
    finally:
        worker.join()


def take(sock: socket.socket) -> dict[str, Any]:
    """Read a message of the judge; one that hung up is an OSError, which ends the worker."""
    sock.setblocking(True)
    prefix = sock.recv(PREFIX.size, socket.MSG_WAITALL)
    if len(prefix) < PREFIX.size:
        raise ConnectionError
    length, inline = PREFIX.unpack(prefix)
    text = sock.recv(length, socket.MSG_WAITALL)
    sock.recv(inline, socket.MSG_WAITALL)
    return json.loads(text)


def give(sock: socket.socket, header: dict[str, Any], *buffers: list[int]) -> None:
    text = json.dumps({**header, "buffers": buffers}, ensure_ascii=False).encode()
    sock.sendall(PREFIX.pack(len(text), 0) + text)


def call(talk: Conversation, *args: Any) -> Any:
    return talk.call(["function", "f"], args, {})


def lend(target: Any) -> Loan:
    return Loan(target, ("__call__",), (), keep=False)


def ask(*args: Any, **kwargs: Any) -> dict[str, Any]:
    value = {"t": [{"t": list(args)}, {"d": [list(pair) for pair in kwargs.items()]}]}
    return {"op": "ask", "object": 1, "name": "__call__", "value": value}


# -- time ---------------------------------------------------------------------------------------


def test_byte_out_of_band_does_not_stop_the_clock() -> None:
    """The socket says that it is readable, and a blocking read of it never ended."""

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        sock.send(b"!", socket.MSG_OOB)
        while sock.recv(1 << 16):
            pass

    with talking(serve, seconds=0.3) as talk:
        started = time.monotonic()
        with pytest.raises(StudentTimeout):
            call(talk, 1)
        assert time.monotonic() - started < 5


def pair() -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    worker_less = [os.memfd_create("arena") for _ in range(2)]
    for fd in worker_less:
        os.ftruncate(fd, 4096)
    channel = Channel(ours, *worker_less)
    for fd in worker_less:
        os.close(fd)
    return channel, theirs


def test_descriptors_for_a_worker_that_reads_nothing_are_late() -> None:
    near, far = pair()

    def flood() -> None:
        while True:
            near.send({"op": "ring"}, [], time.monotonic() + 0.2, fds=(0,))

    with far, pytest.raises(Late):
        flood()
    near.close()


def test_descriptors_for_a_worker_that_is_gone_are_no_error_of_ours() -> None:
    near, far = pair()
    far.close()
    with pytest.raises(Closed):
        near.send({"op": "ring"}, [], time.monotonic() + 5, fds=(0,))
    near.close()


def test_parent_of_ranks_that_says_nothing_costs_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank may stop its parent, which the judge then asked for two minutes how the rank ended."""
    monkeypatch.setattr(ranks, "ANSWER_SECONDS", 0.3)

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        give(sock, {"op": "value", "id": take(sock)["id"], "value": 4711})
        while sock.recv(1 << 16):
            pass

    worker = Thread(serve)
    sandbox = RankSandbox(worker, [1], "cpu")  # type: ignore[arg-type]
    started = time.monotonic()

    assert sandbox.exit_status(4711) is None

    assert time.monotonic() - started < 5
    sandbox.ranks[1][0].close()
    worker.join()


# -- memory -------------------------------------------------------------------------------------

HALF = ARENA // 2 + 4096


def test_replies_that_a_test_keeps_are_counted_together() -> None:
    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        while True:
            value = {"x": [0, "uint8", [HALF], None, "cpu"]}
            give(sock, {"op": "value", "id": take(sock)["id"], "value": value}, [HALF, 0])

    with talking(serve) as talk:
        for _ in range(5):
            kept = call(talk, 1)  # the one before is let go too late: two at a time are too many
            del kept
        kept = call(talk, 1)
        with pytest.raises(StudentMemory, match="more than the 1 MiB"):
            call(talk, 1)
        assert talk.over
        assert kept.numel() == HALF


def test_small_buffers_count_too() -> None:
    part = 60 << 10

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        while True:
            number = take(sock)["id"]
            header = {"op": "value", "id": number, "value": {"x": [0, "uint8", [part], None, ""]}}
            text = json.dumps({**header, "buffers": [[part, -1]]}).encode()
            sock.sendall(PREFIX.pack(len(text), part) + text + bytes(part))

    with talking(serve) as talk:
        kept = [call(talk, 1) for _ in range(ARENA // part)]
        with pytest.raises(StudentMemory):
            kept.append(call(talk, 1))


def test_questions_that_wait_for_each_other_are_counted_together() -> None:
    """Each call back from a lent object let the worker send another full message."""

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        while True:
            take(sock)
            give(sock, ask({"x": [0, "uint8", [HALF], None, "cpu"]}), [HALF, 0])

    with talking(serve) as talk:
        depths: list[int] = []

        def model(x: torch.Tensor) -> Any:
            depths.append(x.numel())
            return call(talk, lend(model))

        with pytest.raises(StudentMemory):
            call(talk, lend(model))
        assert depths == [HALF]


@pytest.mark.parametrize("shape", [[1 << 40, 0], [MAX_ROWS + 1, 0], [400, 400, 0], [0, 1 << 40]])
def test_empty_tensor_of_a_million_rows_is_refused(shape: list[int]) -> None:
    """It costs nothing to send, and ``tolist`` makes a list of each row."""
    empty = torch.empty(0, dtype=torch.uint8)
    with pytest.raises(WireError, match="empty rows"):
        Unpacker([empty], lambda *_: None).unpack({"x": [0, "uint8", shape, None, "cpu"]})


@pytest.mark.parametrize("shape", [[0], [3, 0], [2, 8, 0, 128], [0, 4096, 4096], [MAX_ROWS, 0]])
def test_honest_empty_tensor_arrives(shape: list[int]) -> None:
    empty = torch.empty(0, dtype=torch.uint8)
    got = Unpacker([empty], lambda _, body: body[0]).unpack({"x": [0, "int8", shape, None, "cpu"]})

    assert list(got.shape) == shape


def test_ring_cannot_be_shrunk_under_the_judge() -> None:
    memory = SharedMemory.make(1 << 16, torch.device("cpu"))
    try:
        with pytest.raises(PermissionError):
            os.ftruncate(memory.fd, 0)
        assert fcntl.fcntl(memory.fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SEAL
    finally:
        memory.close()


# -- questions ----------------------------------------------------------------------------------


def asking(question: dict[str, Any]) -> Serve:
    """Return a worker that asks once, and takes the refusal for an answer."""

    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        number = take(sock)["id"]
        give(sock, question)
        answer = take(sock)
        give(sock, {"op": "value", "id": number, "value": answer.get("message")})

    return serve


def test_refusal_does_not_repeat_megabytes() -> None:
    """The keyword was quoted in a message that then was larger than a message may be."""
    with talking(asking(ask(**{"é" * 400_000: 1}))) as talk:
        said = call(talk, lend(lambda x: x))

    assert said.startswith("missing a required argument") or "unexpected keyword" in said
    assert len(said) <= 2000


@pytest.mark.parametrize("argument", [None, "a", [1], {"d": []}], ids=str)
def test_argument_that_our_object_cannot_take_is_the_submissions_fault(argument: Any) -> None:
    """The TypeError of a lent function became the judge's own failure."""
    with talking(asking(ask(argument))) as talk:
        with pytest.raises(Mismatch, match="an argument it cannot take"):
            call(talk, lend(lambda x: x.argmax(-1) + 1))
        assert talk.over


def test_value_that_a_test_calls_is_the_submissions_fault() -> None:
    """A worker hides a method, and says on request that it is the number 5."""
    item: Any = SimpleNamespace(path=Path(__file__))
    number: Any = 5
    with pytest.raises(TypeError) as ours:
        number(1)
    with pytest.raises(TypeError) as deeper:
        json.dumps({}, default=3, cls=number)

    assert verdicts.called_a_value(ours.value, item)
    assert not verdicts.called_a_value(deeper.value, item)
    assert not verdicts.called_a_value(TypeError("what"), item)


def test_worker_that_hangs_up_on_a_question_of_ours_is_a_crash() -> None:
    def serve(sock: socket.socket, _: tuple[int, int]) -> None:
        take(sock)
        give(sock, ask(1))
        sock.close()

    with talking(serve) as talk, pytest.raises(StudentCrashed):
        call(talk, lend(lambda x: [x] * 90_000))
