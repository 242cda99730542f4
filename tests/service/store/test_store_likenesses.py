"""What the port promises of answers that are alike, on every store that there is."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from stand_ins.classroom import HOSTILE_MESSAGE, LAB, NOON, after
from stand_ins.handed_in import OTHER_LAB

from grader.course.database.connection import located
from grader.course.database.records import Likeness
from grader.course.likeness.clusters import Cluster, Source
from grader.course.likeness.notes import Kept, KeptAnswer, Note, State, standing
from grader.service.ports.store import Store

PAIR = Likeness(LAB, "ada", "bob", True, 0.9, 0.8, 1200)
FOUND = Kept(
    LAB,
    NOON,
    0.6,
    [
        KeptAnswer("ada", True, "a" * 32, "collected/ada"),
        KeptAnswer("bob", True, "b" * 32, "collected/bob"),
        KeptAnswer("2025/x.py", False, "c" * 32, "/old/2025/x.py"),
    ],
    [Cluster(["ada", "bob"], 1, PAIR, [Source("2025/x.py", 1, 0.7)], 2, ["norm"], HOSTILE_MESSAGE)],
    ["ada: was cut"],
    ["cyd: no llama.py"],
)
NOTE = Note(
    LAB, ("a" * 32, "b" * 32), "ada, bob", State.TO_TALK, "A. Teacher", HOSTILE_MESSAGE, NOON
)


def test_a_comparison_comes_back_the_same(store: Store) -> None:
    store.alike.put(FOUND)

    assert store.alike.comparison(LAB) == FOUND
    assert store.alike.comparison(OTHER_LAB) is None


def test_a_newer_comparison_takes_the_place_of_the_one_before(store: Store) -> None:
    store.alike.put(FOUND)
    newer = replace(FOUND, made=after(1), clusters=[])

    store.alike.put(newer)

    assert store.alike.comparison(LAB) == newer


def test_notes_only_grow_and_survive_a_comparison(store: Store) -> None:
    second = replace(NOTE, state=State.NO_MATTER, text="they said why", made=after(2))
    store.alike.add_note(NOTE)
    store.alike.put(FOUND)

    store.alike.add_note(second)

    assert store.alike.notes(LAB) == [NOTE, second]
    assert store.alike.notes(OTHER_LAB) == []


@pytest.mark.parametrize(
    "change", ["UPDATE likeness_notes SET text = 'x'", "DELETE FROM likeness_notes"]
)
def test_the_database_itself_refuses_to_change_a_note(shared: Store, url: str, change: str) -> None:
    shared.alike.add_note(NOTE)
    engine = create_engine(located(url, None))

    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text(change))

    engine.dispose()
    assert shared.alike.notes(LAB) == [NOTE]


def test_the_newest_note_about_all_holds() -> None:
    second = replace(NOTE, state=State.CONFIRMED)

    found = standing(["a" * 32, "b" * 32], [NOTE, second])

    assert (found.state, found.is_open, found.line) == (State.CONFIRMED, False, "confirmed")
    assert found.notes == [NOTE, second]


def test_who_comes_later_to_a_cluster_is_not_decided_by_what_was_said_before() -> None:
    found = standing(["a" * 32, "b" * 32, "d" * 32], [replace(NOTE, state=State.NO_MATTER)])

    assert found.is_open
    assert found.line == "no matter for some of them, open for all"


def test_an_answer_that_was_changed_has_no_notes() -> None:
    assert standing(["a" * 32, "e" * 32], [NOTE]).notes == []
    assert standing(["a" * 32, "e" * 32], [NOTE]).state is State.OPEN


def test_names_lead_to_keys() -> None:
    assert FOUND.keys(["bob", "ada", "gone"]) == ("a" * 32, "b" * 32)
    assert FOUND.students == 2
    assert Path(FOUND.answers[2].path).is_absolute()
