"""Gradings whose workers are one user of the host: groups of ranks have the machine alone."""

import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from stand_ins.expectation import SUBMISSIONS, find
from stand_ins.isolation import require_sandbox

import grader.judge.grade as grading
from grader.judge.setup.request import Request
from grader.sandbox.confinement import users

WAIT = 0.3


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.environment.SHARED", tmp_path)


class Turn(Exception):
    """What is asked for in place of a grading."""


@pytest.mark.parametrize(("name", "alone"), [("90_echo", False), ("92_ranks", True)])
def test_a_grading_waits_for_its_turn_where_users_are_not_divided(
    monkeypatch: pytest.MonkeyPatch, name: str, alone: bool
) -> None:
    require_sandbox()

    def ask(*, alone: bool) -> AbstractContextManager[None]:
        raise Turn(alone)

    monkeypatch.setattr(grading, "are_divided", lambda level, device: False)
    monkeypatch.setattr(users, "in_turn", ask)

    with pytest.raises(Turn) as caught:
        grading.grade(Request(find(name), SUBMISSIONS / "right_plain_lists.py", device="cpu"))
    assert caught.value.args == (alone,)


@pytest.mark.parametrize(("level", "divided"), [("none", False), ("bwrap", True)])
def test_no_grading_waits_without_walls_or_with_users_of_its_own(
    monkeypatch: pytest.MonkeyPatch, level: str, divided: bool
) -> None:
    monkeypatch.setattr(grading, "are_divided", lambda level, device: divided)

    with users.in_turn(alone=True), grading._turn(find("92_ranks"), "cpu", level):
        pass


@pytest.mark.parametrize(
    ("one", "other", "wait"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_who_is_alone_waits_and_is_waited_for(one: bool, other: bool, wait: bool) -> None:
    entered = threading.Event()

    def enter() -> None:
        with users.in_turn(alone=other):
            entered.set()

    thread = threading.Thread(target=enter)
    with users.in_turn(alone=one):
        thread.start()
        assert entered.wait(WAIT) is not wait
    thread.join()
    assert entered.is_set()
