"""A backup holds all that the service keeps, and a course goes on where it was restored."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError
from stand_ins.classroom import ADA, BOB, CYD, LAB, NOON
from stand_ins.handed_in import (
    HOUR,
    OTHER_LAB,
    anything,
    claim,
    emptied,
    finish,
    hand_in,
    minutes,
    work,
)

from grader.course.commands.backup import back_up_course
from grader.course.config import Course, load_course
from grader.course.database.connection import connect, located, upgrade
from grader.course.database.records import Comment, Decision, Kind
from grader.course.database.store import Store as CourseStore
from grader.course.grading.backups.backup import back_up
from grader.course.grading.backups.restore import restore
from grader.errors import UsageError
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import Alias, Session, State
from grader.service.ports.store import Store

HELD = "hand-ins/01_llama/20261001T120000-00/llama.py"


@contextmanager
def opened(course: Course) -> Iterator[DatabaseStore]:
    with CourseStore.open(course.database, course.folder) as found:
        yield DatabaseStore(found)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course in which everything of the service was used."""
    folder = tmp_path / "course"
    (folder / HELD).parent.mkdir(parents=True)
    (folder / HELD).write_text("x = 1\n")
    (folder / "course.toml").write_text('title = "Demo"\n')
    (folder / "roster.csv").write_text("id,name\nada,Ada\n")
    found = load_course(folder / "course.toml")
    with CourseStore.open(found.database, folder) as store:
        store.put_students([ADA, BOB, CYD])
        use(DatabaseStore(store))
    return found


def use(store: Store) -> None:
    store.receive(work("ada", note="<b>"), str(Path(HELD).parent), anything)
    assert finish(store, claim(store), minutes(1))
    hand_in(store, "bob")
    store.fail(claim(store).number, "w", "disk", minutes(2), 1)
    hand_in(store, "ada", OTHER_LAB)
    hand_in(store, "ada", OTHER_LAB)
    hand_in(store, "cyd", device="cuda")
    claim(store, "gpu", minutes(3), "cuda")
    for kind in ("begun", "graded"):
        store.tell(1, kind, {"points": 5.5}, minutes(1))
    tokens = [store.add_token(f"hash {name}", name, "student", NOON) for name in ("ada", "bob")]
    store.open_session(Session("cookie", tokens[0].id, "csrf", NOON, minutes(60)))
    store.revoke("bob", minutes(4))
    store.reading.add_comment(comment("see me"))
    store.put_alias(Alias("ada", LAB, "zeta"))
    store.first_delivery("delivery", NOON)
    asked = Decision("", Kind.ASKED, "A. Teacher", "a test was wrong", NOON)
    store.regradings.ask(LAB, [("ada", "handin-1")], "cpu", asked)
    store.regradings.judge_hidden(LAB, "ada", "handin-1", "cpu", NOON)


def comment(text: str) -> Comment:
    return Comment("ada", LAB, "handin-1", "A. Teacher", text, minutes(5))


def everything(course: Course) -> list[object]:
    with opened(course) as store:
        items = store.hand_ins()
        numbers = [item.number for item in items]
        words = [[store.events(n) for n in numbers], store.reading.comments()]
        doors = [store.tokens(), store.session("cookie", NOON), store.aliases(LAB)]
        again = [store.regradings.of_run(run) for run in "123"]
        regrades = [store.regradings.runs(), store.regradings.decisions(), again]
        return [items, words, doors, store.attempts(), store.queued(NOON, HOUR), regrades]


def files(course: Course) -> dict[str, bytes]:
    found = (file for file in (course.folder / "hand-ins").rglob("*") if file.is_file())
    return {str(file.relative_to(course.folder)): file.read_bytes() for file in found}


def go_on(course: Course) -> None:
    """Use the store as one does whose course never moved."""
    with opened(course) as store:
        last = store.hand_ins()[-1].number
        assert not store.first_delivery("delivery", NOON)
        assert store.tell(1, "again", {}, NOON).id > store.events(1)[1].id
        assert hand_in(store, "ada").number == last + 1
        assert store.requeue(2)
        assert finish(store, claim(store))
        assert [attempt.run for attempt in store.attempts(LAB)] == ["1", "1"]
        assert store.add_token("new", "ada", "student", NOON).id == 3
        store.reading.add_comment(comment("thank you"))
    engine = connect(located(course.database, course.folder), 5.0)
    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text("DELETE FROM comments"))
    engine.dispose()


def test_a_course_with_its_service_is_restored_the_same_and_goes_on(
    course: Course, tmp_path: Path
) -> None:
    contents = back_up(course, course.folder / "course.toml", tmp_path / "week1.tar.gz")
    back, _ = restore(tmp_path / "week1.tar.gz", tmp_path / "new" / "course.toml")

    assert everything(back) == everything(course)
    assert files(back) == files(course) == {HELD: b"x = 1\n"}
    assert (back.folder / HELD).stat().st_mode & 0o077 == 0
    names = ("hand_ins", "events", "tokens", "sessions", "comments", "aliases", "deliveries")
    assert [contents.rows[name] for name in names] == [5, 2, 2, 1, 1, 1, 1]
    assert [contents.rows[name] for name in ("regradings", "decisions")] == [2, 1]
    go_on(back)


def test_a_course_moves_to_postgresql_and_back_with_its_service(
    course: Course, tmp_path: Path, server: str
) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "course.toml").write_text(f'title = "Demo"\ndatabase = "{emptied(server)}"\n')
    back_up(course, course.folder / "course.toml", tmp_path / "week1.tar.gz")

    there, _ = restore(tmp_path / "week1.tar.gz", moved / "course.toml")
    assert everything(there) == everything(course)
    (moved / "course.toml").rename(moved / "postgres.toml")
    (moved / "course.toml").write_text('title = "Demo"\n')
    back_up(there, moved / "course.toml", tmp_path / "week2.tar.gz")
    back, _ = restore(tmp_path / "week2.tar.gz", tmp_path / "back" / "course.toml")

    assert everything(back) == everything(course)
    assert files(back) == files(there) == files(course)
    go_on(there)
    go_on(back)


def test_what_was_handed_in_is_counted(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert back_up_course(tmp_path / "week1.tar.gz", course.folder / "course.toml") == 0

    told = capsys.readouterr().out
    assert "3 students, 1 graded attempt, 0 collected commits, 5 hand-ins, " in told


def test_a_restore_never_writes_over_what_was_handed_in(course: Course, tmp_path: Path) -> None:
    back_up(course, course.folder / "course.toml", tmp_path / "week1.tar.gz")
    (tmp_path / "new" / HELD).parent.mkdir(parents=True)
    (tmp_path / "new" / HELD).write_text("another\n")

    with pytest.raises(UsageError, match="hand-ins is there already"):
        restore(tmp_path / "week1.tar.gz", tmp_path / "new" / "course.toml")

    assert (tmp_path / "new" / HELD).read_text() == "another\n"


def test_a_course_of_before_the_service_takes_hand_ins(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/course.db"
    engine = connect(located(url, None), 5.0)
    with engine.begin() as connection:
        upgrade(connection, "0004")
        connection.execute(text("INSERT INTO students VALUES ('ada', 'Ada', '', 'b', 0)"))
        connection.execute(
            text("INSERT INTO runs VALUES (1, '01_llama', '2026-10-01 12:00:00', '', '')")
        )
    engine.dispose()

    with CourseStore.open(url) as found:
        store = DatabaseStore(found)
        item = hand_in(store, "ada")
        assert finish(store, claim(store))
        assert [run.note for run in found.runs()] == ["", "service"]
        assert store.hand_ins()[0].state is State.GRADED
        assert item.number == 1
