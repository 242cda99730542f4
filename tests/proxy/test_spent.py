"""Seconds count once, for the innermost thing that is done, whatever ends it."""

import pytest

from grader.proxy.conversation.spent import CALLS, JUDGE, STARTING, Spent


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_begun_inside_another_is_not_counted_twice() -> None:
    clock = Clock()
    spent = Spent(clock)
    clock.now += 1
    with spent.on(CALLS):
        clock.now += 2
        with spent.on(JUDGE):  # an object that is lent is at work
            clock.now += 4
        clock.now += 8
    clock.now += 16

    assert spent.seconds() == {JUDGE: 1 + 4 + 16, CALLS: 2 + 8}


def test_what_fails_is_counted_and_over() -> None:
    clock = Clock()
    spent = Spent(clock)

    def start() -> None:
        with spent.on(STARTING):
            clock.now += 3
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        start()
    clock.now += 5

    assert spent.seconds() == {JUDGE: 5.0, STARTING: 3.0}
