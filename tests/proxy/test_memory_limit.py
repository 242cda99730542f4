"""What lent objects keep and need for a moment stays below a ceiling, whoever makes the copies."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from grader.proxy.loans.memory_limit import MemoryLimit, data_bytes

pytestmark = pytest.mark.usefixtures("tidy_heap")
MEBI = 1 << 20


@contextmanager
def lowered(ceiling: MemoryLimit) -> Iterator[None]:
    """A call, in which an object is used once."""
    ceiling.begin_call()
    ceiling.lower()
    try:
        yield
    finally:
        ceiling.lift()


@pytest.mark.parametrize(
    "make",
    [
        bytearray,
        lambda size: [None] * (size // 8),
        lambda size: [(i,) * 55 for i in range(size // 500)],
        lambda size: torch.ones(size, dtype=torch.uint8).clone(),
        lambda size: torch.empty(size, dtype=torch.uint8),
        lambda size: torch.ones(1).expand(size // 4).contiguous(),
        lambda size: "é" * size,
    ],
    ids="bytes list tuples clone empty contiguous text".split(),
)
def test_who_takes_too_much_gets_none(make: Any) -> None:
    with lowered(MemoryLimit(64 * MEBI)):
        with pytest.raises((MemoryError, RuntimeError), match=r"^$|can't allocate memory"):
            make(1000 * MEBI)  # more than a long life can have left free
        assert len(make(1 * MEBI)) > 0


def test_the_limit_is_as_before_once_it_is_lifted() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    ceiling = MemoryLimit(64 * MEBI)

    with lowered(ceiling), lowered(ceiling):
        inside = resource.getrlimit(resource.RLIMIT_DATA)

    assert inside != before
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_what_is_kept_from_call_to_call_adds_up() -> None:
    ceiling, kept = MemoryLimit(1000 * MEBI), list[bytearray]()

    def keep(times: int) -> None:
        for _ in range(times):
            with lowered(ceiling):
                kept.append(bytearray(100 * MEBI))

    with pytest.raises(MemoryError):
        keep(20)

    assert 8 <= len(kept) <= 11


def test_what_grows_between_the_uses_of_a_call_counts() -> None:
    """The heap may grow outside for what is then taken inside."""
    ceiling, kept = MemoryLimit(1000 * MEBI), list[bytearray]()
    ceiling.begin_call()
    ceiling.lower()
    ceiling.lift()
    kept += [bytearray(400 * MEBI) for _ in range(2)]

    ceiling.lower()
    try:
        with pytest.raises(MemoryError):
            kept.append(bytearray(400 * MEBI))
    finally:
        ceiling.lift()


def test_what_was_taken_outside_is_used_up_inside() -> None:
    """A heap that grew while nothing limited it has room for what is kept."""
    ceiling = MemoryLimit(50 * MEBI)
    with lowered(ceiling):
        ceiling.check()
        ceiling.lift()
        kept = bytearray(400 * MEBI)
        ceiling.lower()
        with pytest.raises(MemoryError):
            ceiling.check()
    del kept


def test_what_is_dropped_or_needed_for_a_moment_does_not_add_up() -> None:
    ceiling = MemoryLimit(100 * MEBI)
    for _ in range(20):
        with lowered(ceiling):
            kept = bytearray(60 * MEBI)
            del kept
    for _ in range(20):
        with lowered(ceiling):
            kept = bytearray(60 * MEBI)
        del kept


def test_what_others_take_between_calls_is_not_counted() -> None:
    ceiling = MemoryLimit(50 * MEBI)
    others = []
    for _ in range(4):
        others.append(bytearray(40 * MEBI))
        with lowered(ceiling):
            bytearray(30 * MEBI)


def test_a_new_test_begins_with_nothing_kept() -> None:
    ceiling = MemoryLimit(500 * MEBI)  # far more than is free in the heap
    with lowered(ceiling):
        first = bytearray(400 * MEBI)
    with lowered(ceiling), pytest.raises(MemoryError):
        bytearray(400 * MEBI)

    ceiling.begin()

    with lowered(ceiling):
        assert len(bytearray(400 * MEBI)) == len(first)


def test_data_is_what_a_process_may_write_to() -> None:
    before = data_bytes()
    kept = bytearray(64 * MEBI)

    assert abs(data_bytes() - before - len(kept)) < 4 * MEBI
