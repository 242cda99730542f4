"""What the port promises of requests, holds and secret addresses, on every store that there is."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text
from stand_ins.classroom import ADA, LAB, NOON, after

from grader.course.database.giving.records import (
    Address,
    Answer,
    Asked,
    Ending,
    Given,
    Hold,
    Request,
    Step,
    Way,
    held,
)
from grader.course.database.giving.returns import Returns
from grader.course.database.records import Override
from grader.course.database.store import Store as CourseStore
from grader.errors import StoreError
from grader.service.ports.store import Store

WISH = Request("ada", LAB, "handin-1", "norm", "", 50.0, 0.0, "it is right", "ada", NOON)
HELD = Hold("ada", LAB, True, "A. Teacher", "to be talked about", NOON)


def answer(request: int, **given: object) -> Answer:
    values = {"kind": Ending.ANSWERED, "author": "A. Teacher", "text": "no", "made": after(1)}
    return Answer(request=request, **{**values, **given})  # type: ignore[arg-type]


def test_a_request_is_open_until_it_is_answered(store: Store) -> None:
    number = store.returns.ask(WISH)
    assert number is not None
    assert store.returns.asked(is_open=True) == [Asked(WISH)]

    assert store.returns.end(answer(number))

    assert store.returns.asked(is_open=True) == []
    assert store.returns.asked("ada") == [Asked(WISH, answer(number))]
    assert store.returns.asked("bob") == []


def test_one_of_an_attempt_and_task_is_open_at_a_time(store: Store) -> None:
    first = store.returns.ask(WISH)
    assert first is not None

    assert store.returns.ask(replace(WISH, test="test_norm", reason="again")) is None
    assert store.returns.ask(replace(WISH, task="rope")) is not None
    assert store.returns.ask(replace(WISH, commit="handin-2")) is not None
    assert store.returns.ask(replace(WISH, student="bob", author="bob")) is not None
    store.returns.end(answer(first, kind=Ending.WITHDRAWN, author="ada"))
    assert store.returns.ask(WISH) is not None


def test_a_request_ends_once_and_its_correction_comes_with_it(store: Store) -> None:
    number = store.returns.ask(WISH)
    assert number is not None
    word = Override("ada", LAB, 70.0, "A. Teacher", "request 1", after(1))

    assert store.returns.end(answer(number, before=50.0, after=70.0), word)
    assert not store.returns.end(answer(number, text="yes"), replace(word, points=90.0))

    assert [each.answer and each.answer.after for each in store.returns.asked()] == [70.0]


def test_a_request_that_is_not_there_has_no_end(store: Store) -> None:
    with pytest.raises(StoreError):
        store.returns.end(answer(7))


def test_the_newest_word_says_what_is_held_back(store: Store) -> None:
    store.returns.add_hold(HELD)
    store.returns.add_hold(replace(HELD, student="bob"))
    assert {*held(store.returns.holds())} == {("ada", LAB), ("bob", LAB)}

    store.returns.add_hold(replace(HELD, holds=False, reason="talked about"))

    assert {*held(store.returns.holds())} == {("bob", LAB)}
    assert [word.holds for word in store.returns.holds("ada")] == [True, False]


def test_an_address_is_known_by_its_hash_once(store: Store) -> None:
    address = Address("ab12", "ada", LAB, "A. Teacher", NOON)
    store.returns.add_address(address)

    assert store.returns.address("ab12") == address
    assert store.returns.address("ab13") is None
    with pytest.raises(StoreError):
        store.returns.add_address(address)


def opened(folder: Path) -> CourseStore:
    store = CourseStore.open(f"sqlite:///{folder}/course.db")
    store.put_students([ADA])
    return store


def test_a_correction_stands_among_the_overrides(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        number = Returns(store).ask(WISH)
        assert number is not None
        word = Override("ada", LAB, 70.0, "A. Teacher", "request 1", after(1))

        Returns(store).end(answer(number), word)

        assert store.overrides() == [word]


def test_a_revoked_address_is_unknown(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        returns = Returns(store)
        returns.add_address(Address("ab12", "ada", LAB, "A. Teacher", NOON))

        assert returns.revoke(LAB, ["bob"], after(1)) == 0
        assert returns.revoke(LAB, ["ada"], after(1)) == 1

        assert returns.address("ab12") is None
        assert returns.addresses(LAB) == []


def test_steps_of_giving_back_are_listed_by_way(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        returns = Returns(store)
        step = Given("ada", LAB, Way.MAIL, Step.BEGUN, "d1", "ada@x.org", "", NOON)
        returns.add_given(step)
        returns.add_given(replace(step, way=Way.BRANCH, step=Step.SENT))

        assert returns.given(LAB, Way.MAIL) == [step]


@pytest.mark.parametrize("table", ["requests", "answers", "holds", "given_back"])
def test_what_was_said_cannot_be_changed(tmp_path: Path, table: str) -> None:
    with opened(tmp_path) as store:
        returns = Returns(store)
        number = returns.ask(WISH)
        assert number is not None
        returns.end(answer(number))
        returns.add_hold(HELD)
        returns.add_given(Given("ada", LAB, Way.MAIL, Step.BEGUN, "d", "x", "", NOON))

        for change in (f"UPDATE {table} SET made = made", f"DELETE FROM {table}"):
            with (
                pytest.raises(StoreError, match="never changes what was recorded"),
                store.writing() as session,
            ):
                session.execute(text(change))
