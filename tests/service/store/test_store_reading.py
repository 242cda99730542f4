"""What people say when they read, in stores of each kind: rows that only grow."""

from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from stand_ins.classroom import LAB
from stand_ins.handed_in import NOON, minutes

from grader.course.database.connection import located
from grader.course.database.records import Comment, Correction, Score, Seen
from grader.errors import StoreError, UsageError
from grader.service.ports.store import Store

SAID = Comment("ada", LAB, "c0ffee", "A. Teacher", "see <me>", NOON)
ON_LINE = replace(SAID, text="why?", file="llama.py", line=3, made=minutes(-5))
POINTS = Correction("ada", LAB, "c0ffee", "norm", 7.5, "A. Teacher", "it is right", NOON)
SCORE = Score("ada", LAB, "c0ffee", "steps", 2.0, "tutor", "", NOON)


def test_comments_come_back_as_they_were_said(store: Store) -> None:
    numbers = [store.reading.add_comment(each) for each in (SAID, ON_LINE)]
    other = replace(SAID, student="bob", lab="02_batching")
    store.reading.add_comment(other)

    assert store.reading.comments(LAB, "ada") == [SAID, ON_LINE]
    assert [each.number for each in store.reading.comments(LAB)] == numbers
    assert store.reading.comments(student="bob") == [other]


def test_a_comment_is_taken_back_by_another_row(store: Store) -> None:
    number = store.reading.add_comment(SAID)

    store.reading.add_comment(replace(SAID, text="it was wrong", withdraws=number))

    first, second = store.reading.comments()
    assert (first, second.withdraws) == (SAID, number)


def test_nothing_is_said_of_who_is_not_known(store: Store) -> None:
    for say, word in (
        (store.reading.add_comment, SAID),
        (store.reading.add_correction, POINTS),
        (store.reading.add_seen, Seen("ada", LAB, "c0ffee", "tutor", NOON)),
    ):
        with pytest.raises(StoreError, match="nobody"):
            say(replace(word, student="nobody"))  # type: ignore[type-var]
    assert store.reading.comments() == []


def test_points_by_hand_come_back_oldest_first(store: Store) -> None:
    later = replace(POINTS, points=None, made=minutes(-1))
    for word in (POINTS, later, replace(POINTS, student="bob")):
        store.reading.add_correction(word)

    assert store.reading.corrections("ada") == [POINTS, later]


def test_scores_and_the_points_that_they_make_are_one(store: Store) -> None:
    store.reading.add_scores([SCORE], lambda scores: [])
    second = replace(SCORE, author="other")
    seen: list[Score] = []

    store.reading.add_scores([second], lambda scores: [seen.extend(scores), POINTS][1:])  # type: ignore[list-item]

    assert seen == [SCORE, second] == store.reading.scores(LAB)
    assert store.reading.corrections() == [POINTS]


def test_a_score_that_makes_no_sense_is_not_kept(store: Store) -> None:
    def refuse(scores: object) -> list[Correction]:
        raise UsageError("no")

    with pytest.raises(UsageError):
        store.reading.add_scores([SCORE], refuse)

    assert store.reading.scores(LAB) == []


def test_who_has_read_what_is_kept(store: Store) -> None:
    seen = Seen("ada", LAB, "c0ffee", "tutor", NOON)

    store.reading.add_seen(seen)

    assert store.reading.seen(LAB) == [seen]
    assert store.reading.seen("02_batching") == []


@pytest.mark.parametrize("table", ["comments", "corrections", "scores", "seen"])
@pytest.mark.parametrize("change", ["UPDATE {} SET author = 'x'", "DELETE FROM {}"])
def test_the_database_itself_refuses_to_change_what_was_said(
    shared: Store, url: str, table: str, change: str
) -> None:
    shared.reading.add_comment(SAID)
    shared.reading.add_scores([SCORE], lambda scores: [POINTS])
    shared.reading.add_seen(Seen("ada", LAB, "c0ffee", "tutor", NOON))
    engine = create_engine(located(url, None))

    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text(change.format(table)))

    engine.dispose()
    assert shared.reading.comments() == [SAID]
