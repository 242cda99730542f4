"""Past a limit of what lent objects may cost, the submission has failed, and the judge has not."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from stand_ins.threaded import SOURCE, Thread, serve_source

from grader.errors import Mismatch, StudentMemory, StudentTimeout, SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.loans import budget
from grader.proxy.loans.budget import CEILING
from grader.proxy.loans.loans import Loan

pytestmark = pytest.mark.usefixtures("tidy_heap")


@contextmanager
def talking(seconds: float = 30.0) -> Iterator[Conversation]:
    CEILING.begin()
    worker = Thread(serve_source)
    try:
        yield Conversation(worker, "cpu", Clock(seconds), SOURCE)  # type: ignore[arg-type]
    finally:
        worker.join()


def call(talk: Conversation, name: str, *args: Any) -> Any:
    return talk.call(["function", name], args, {})


def lend(target: Any) -> Loan:
    return Loan(target, ("__call__",), (), keep=False)


def failure(kind: type[SubmissionFault], target: Callable[..., Any], *args: Any) -> str:
    """Use a lent object with arguments; return what the fault says that comes of it."""
    with talking() as talk:
        with pytest.raises(kind) as caught:
            call(talk, "use", lend(target), *args)
        assert type(caught.value) is kind
        assert talk.over
    return str(caught.value)


# -- uses, sizes and objects ------------------------------------------------------------------


def test_uses_of_one_call_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_USES", 30)
    uses: list[int] = []
    with talking() as talk:
        call(talk, "swallow", lend(uses.append), 30)
        call(talk, "swallow", lend(uses.append), 30)
        with pytest.raises(Mismatch, match="used 31 times in one call; 30 are allowed"):
            call(talk, "swallow", lend(uses.append), 31)

    assert len(uses) == 90


def test_uses_by_a_nested_call_are_those_of_the_outermost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_USES", 30)
    with talking() as talk:

        def model(_: int) -> Any:
            return call(talk, "swallow", lend(lambda x: x), 20)

        with pytest.raises(Mismatch, match="used 31 times"):
            call(talk, "swallow", lend(model), 2)


def test_bytes_of_one_call_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_BYTES", 500_000)
    parts = [torch.zeros(60_000) for _ in range(3)]

    with talking() as talk:
        for _ in range(2):
            call(talk, "use", lend(lambda *_: 1), *parts[:2])

    text = failure(Mismatch, lambda *_: 1, *parts)
    assert text == "lent objects were given 720,000 bytes in one call; 500,000 are allowed"


@pytest.mark.parametrize("shape", [(1, 0, 2**32 - 1, 1), (0, 2**23), (2**12, 0, 2**12)])
def test_axes_beside_a_zero_are_bounded(shape: tuple[int, ...]) -> None:
    seen: list[Any] = []

    text = failure(Mismatch, seen.append, torch.zeros(shape))

    assert f"a tensor of shape {list(shape)}; 4,194,304 elements, zeros left out" in text
    assert seen == []


def test_tensor_inside_of_containers_is_looked_at_too() -> None:
    hidden = ({"x": [torch.zeros(0, 2**30)]},)

    assert "a tensor of shape [0, 1073741824]" in failure(Mismatch, lambda x: 1, hidden)


def test_objects_that_are_lent_at_one_time_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_OBJECTS", 20)
    with talking() as talk:

        def make(_: int) -> Any:
            return lend(lambda x: x)

        call(talk, "swallow", lend(make), 19)
        with pytest.raises(Mismatch, match="21 objects are lent at one time; 20 are allowed"):
            call(talk, "swallow", lend(make), 20)


# -- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        lambda n: torch.ones(n, n, 64).sum(),
        lambda n: [None] * (n * n * 8),
        lambda n: [[None] * 1000 for _ in range(n * n // 100)],
        lambda n: bytes(n * n * 64),
    ],
    ids="tensor list lists bytes".split(),
)
def test_temporary_that_is_too_large_is_the_submissions_memory(work: Any) -> None:
    started = time.monotonic()

    text = failure(StudentMemory, work, 3000)

    assert text == "lent objects took more of the judge's memory than the 256 MiB that they may"
    assert time.monotonic() - started < 20


def test_copies_that_an_object_keeps_add_up_over_the_calls_of_a_test() -> None:
    kept: list[torch.Tensor] = []
    with talking() as talk:
        keep = lend(lambda n: kept.append(torch.ones(n)))

        def use_often(times: int) -> None:
            for _ in range(times):
                call(talk, "use", keep, 8 << 20)

        for _ in range(40):
            call(talk, "use", keep, 8 << 20)
            kept.clear()  # what is dropped is given back

        with pytest.raises(StudentMemory):
            use_often(40)

    assert 6 <= len(kept) <= 14  # of 32 MiB; what was free before is not counted


def test_diary_of_an_object_counts_wherever_the_heap_grew() -> None:
    """Buffers of messages make the heap grow, and notes take the room that they leave."""
    text, diary = list(range(5000)), list[Any]()
    with talking() as talk:
        with pytest.raises(StudentMemory):
            call(talk, "swallow", lend(lambda _: diary.append(tuple(text))), 19_000)

    assert 6000 < len(diary) < 12_000  # of 40 kB; what was free before is not counted


# -- time -------------------------------------------------------------------------------------


def forever(_: Any) -> None:
    while True:
        pass


def test_deadline_holds_inside_of_an_object() -> None:
    with talking(seconds=0.4) as talk:
        started = time.monotonic()

        with pytest.raises(StudentTimeout, match=r"use did not end .* 0.4 s: a lent object was"):
            call(talk, "use", lend(forever), 1)

        assert time.monotonic() - started < 5
        assert talk.over


def test_deadline_is_that_of_the_outermost_call() -> None:
    with talking(seconds=0.4) as talk:

        def model(_: int) -> Any:
            return call(talk, "use", lend(forever), 1)

        started = time.monotonic()
        with pytest.raises(StudentTimeout):
            call(talk, "use", lend(model), 1)
        assert time.monotonic() - started < 5


def test_time_that_the_submission_takes_inside_of_an_object_is_told_as_its_own() -> None:
    with talking(seconds=0.4) as talk:

        def model(_: int) -> Any:
            return call(talk, "nap", 1)

        with pytest.raises(StudentTimeout) as caught:
            call(talk, "use", lend(model), 1)
    assert str(caught.value) == "nap did not end within its time limit of 0.4 s"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("Failed to alloc"),
        RuntimeError("can't start new thread"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_memory_that_ends_is_told_alike_wherever_it_ends(error: Exception) -> None:
    def work(_: int) -> None:
        raise error

    assert "the 256 MiB that they may" in failure(StudentMemory, work, 1)


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        lambda n: torch.zeros(n << 10),
        lambda n: [0] * (n << 10),
        lambda n: "a" * (n << 14),
        lambda n: 1 << n,
        lambda n: deep(n),
    ],
    ids="tensor list text number deep".split(),
)
def test_answer_that_fits_no_message_is_the_submissions_fault(work: Any) -> None:
    assert "fits no message, for what it was given" in failure(Mismatch, work, 300)


def deep(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def test_answer_that_no_message_brings_is_our_own_mistake() -> None:
    with talking() as talk, pytest.raises(TypeError, match="cannot be passed"):
        call(talk, "use", lend(lambda x: object()), 1)
