"""Who comes in: tokens, sessions, and what is kept of their secrets."""

from datetime import timedelta

import pytest
from stand_ins.service_room import Classroom

from grader.errors import UsageError
from grader.service.core.door import LASTS, Door, hashed, same
from grader.service.domain.records import Role, Who
from grader.service.domain.refusals import NotSignedIn


@pytest.fixture
def door(room: Classroom) -> Door:
    return Door(room.store, room.clock)


def test_a_token_tells_whose_it_is(door: Door) -> None:
    student, staff = door.issue("ada", Role.STUDENT), door.issue("Grace", Role.INSTRUCTOR)

    assert door.known(student) == Who("ada", Role.STUDENT)
    assert door.known(staff) == Who("Grace", Role.INSTRUCTOR)
    assert student != staff


def test_nothing_that_is_stored_lets_anybody_in(room: Classroom, door: Door) -> None:
    secret = door.issue("ada", Role.STUDENT)
    cookie, visit = door.open(secret)

    stored = repr(room.store.tokens()) + repr(vars(room.store))
    assert secret not in stored
    assert cookie not in stored
    for kept in [each.hash for each in room.store.tokens()] + [hashed(cookie)]:
        with pytest.raises(NotSignedIn):
            door.known(kept)
        assert door.visit(kept) is None
    assert visit.csrf != cookie


def test_only_who_is_on_the_roster_has_a_students_token(door: Door) -> None:
    with pytest.raises(UsageError, match="no student 'mallory' is on the roster"):
        door.issue("mallory", Role.STUDENT)


@pytest.mark.parametrize("text", ["", "inferlab_", "inferlab_x", "x" * 10_000, "\ud800", "a\0b"])
def test_other_texts_are_no_tokens(door: Door, text: str) -> None:
    with pytest.raises(NotSignedIn):
        door.known(text)
    assert door.visit(text) is None


def test_revoking_ends_tokens_and_sessions_of_one_person(door: Door) -> None:
    hers, his = door.issue("ada", Role.STUDENT), door.issue("bob", Role.STUDENT)
    cookie, _ = door.open(hers)
    other, _ = door.open(his)

    assert door.revoke("ada") == 1
    with pytest.raises(NotSignedIn):
        door.known(hers)
    with pytest.raises(NotSignedIn):
        door.open(hers)
    assert door.visit(cookie) is None
    assert door.visit(other) is not None
    assert door.revoke("ada") == 0


def test_a_session_ends_by_itself_and_by_leaving(room: Classroom, door: Door) -> None:
    secret = door.issue("ada", Role.STUDENT)
    one, _ = door.open(secret)
    two, _ = door.open(secret)

    door.close(one)
    assert door.visit(one) is None
    room.clock.moment += LASTS - timedelta(seconds=1)
    assert door.visit(two) is not None
    room.clock.after(seconds=2)
    assert door.visit(two) is None


def test_words_of_forms_differ_by_session(door: Door) -> None:
    secret = door.issue("ada", Role.STUDENT)

    assert door.open(secret)[1].csrf != door.open(secret)[1].csrf


def test_secrets_are_compared_whole() -> None:
    assert same("abc", "abc")
    assert not same("abc", "abd")
    assert not same("abc", "")
    assert not same("abc", "\ud800")
