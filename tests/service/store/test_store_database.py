"""What the service keeps in the course database, as the gradebook and the database see it."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from stand_ins.classroom import ADA, BOB, LAB, NOON
from stand_ins.handed_in import OTHER_LAB, anything, claim, finish, hand_in, minutes, opened, work

from grader.course.database import reading_tables
from grader.course.database import service_tables as tables
from grader.course.database.connection import connect, located
from grader.course.database.records import Comment, Correction, Decision, Frozen, Kind, Score, Seen
from grader.course.database.store import Store as CourseStore
from grader.errors import StoreError
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import (
    Alias,
    Event,
    HandIn,
    Origin,
    Role,
    Session,
    State,
    Token,
)
from grader.service.ports.store import Store


@pytest.fixture
def course(url: str) -> Iterator[CourseStore]:
    with CourseStore.open(url) as found:
        found.put_students([ADA, BOB])
        yield found


@pytest.mark.parametrize(
    ("record", "row"),
    [
        (HandIn, tables.HandInRow),
        (Event, tables.EventRow),
        (Token, tables.TokenRow),
        (Session, tables.SessionRow),
        (Comment, reading_tables.CommentRow),
        (Correction, reading_tables.CorrectionRow),
        (Score, reading_tables.ScoreRow),
        (Seen, reading_tables.SeenRow),
        (Alias, tables.AliasRow),
    ],
)
def test_rows_have_the_names_of_records(record: type, row: type[tables.Table]) -> None:
    names = {field.name for field in fields(record)}

    assert {*row.__mapper__.attrs.keys()} - {"id"} == names - {"id"}


def test_the_database_knows_the_words_that_the_service_uses() -> None:
    assert tuple(State) == tables.STATES
    assert tuple(Origin) == tables.ORIGINS
    assert tuple(Role) == tables.ROLES


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("state = 'lost'", "check"),
        ("origin = 'mail'", "check"),
        ("state = 'running'", "unique"),
        ("lab = '02_batching'", "unique"),
        ("student = 'eve'", "foreign"),
    ],
)
def test_the_database_itself_refuses_what_cannot_be(
    shared: Store, url: str, change: str, why: str
) -> None:
    items = [hand_in(shared, "ada"), hand_in(shared, "ada", OTHER_LAB)]
    engine = connect(located(url, None), 5.0)

    with pytest.raises(DatabaseError, match=f"(?i){why}"), engine.begin() as connection:
        connection.execute(text(f"UPDATE hand_ins SET {change}"))

    engine.dispose()
    assert shared.hand_ins() == items


@pytest.mark.parametrize("change", ["UPDATE decisions SET author = 'x'", "DELETE FROM decisions"])
def test_the_database_itself_refuses_to_change_a_decision(
    shared: Store, url: str, change: str
) -> None:
    asked = Decision("", Kind.ASKED, "A. Teacher", "why", NOON)
    run = shared.regradings.ask(LAB, [("ada", "c0ffee")], "cpu", asked)
    engine = create_engine(located(url, None))

    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text(change))

    engine.dispose()
    assert shared.regradings.decisions() == [replace(asked, run=run)]


def test_the_gradebook_knows_what_was_handed_in_as_collected_work(course: CourseStore) -> None:
    store = DatabaseStore(course)

    store.receive(work("ada", received=minutes(5)), "hand-ins/01_llama/x", anything)

    assert course.collections(LAB) == [
        Frozen("ada", LAB, "handin-1", minutes(5), minutes(5), "hand-ins/01_llama/x")
    ]


def test_what_was_refused_is_not_collected(course: CourseStore) -> None:
    def refuse(_: object) -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - whatever a check raises
        DatabaseStore(course).receive(work("ada"), "hand-ins/01_llama/x", refuse)

    assert course.collections(LAB) == []


def test_the_run_of_the_service_is_beside_those_of_others(course: CourseStore) -> None:
    store = DatabaseStore(course)
    course.start_run(LAB, NOON, "by hand")
    for minute, name in enumerate(("ada", "bob")):
        hand_in(store, name)
        assert finish(store, claim(store), minutes(minute))
    course.start_run(LAB, NOON, "by hand")

    assert [(run.lab, run.note, run.started) for run in course.runs()] == [
        (LAB, "by hand", NOON),
        (LAB, "service", minutes(0)),
        (LAB, "by hand", NOON),
    ]
    assert [(item.run, item.commit) for item in course.attempts()] == [
        ("2", "handin-1"),
        ("2", "handin-2"),
    ]


def test_text_that_a_database_cannot_hold_is_kept_but_for_that(shared: Store) -> None:
    item = hand_in(shared, "ada", note="a\0b\ud800", commit="\0")
    event = shared.tell(item.number, "task", {"told": "\ud800", "x": float("nan")}, NOON)

    assert shared.hand_ins()[0].note == "a\ufffdb\ufffd"
    assert shared.events(item.number)[0].id == event.id


def test_a_moment_without_a_zone_is_refused(shared: Store) -> None:
    with pytest.raises(StoreError, match="no time zone"):
        hand_in(shared, "ada", received=NOON.replace(tzinfo=None))

    assert shared.hand_ins() == []


def test_what_was_kept_is_there_for_who_opens_the_database_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/course.db"
    with opened(url, [ADA]) as store:
        item = hand_in(store, "ada")
        running = claim(store)

    with opened(url) as again:
        assert again.hand_in(item.number) == running
        assert finish(again, running)
