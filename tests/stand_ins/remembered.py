"""A course that keeps all there can be of one student, beside another one who is to stay."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from stand_ins.classroom import LAB, NOON, after, attempt, report
from stand_ins.handed_in import anything, claim, finish, work

from grader.course.config import load_course
from grader.course.database.giving.records import (
    Address,
    Answer,
    Ending,
    Given,
    Hold,
    Request,
    Step,
    Way,
)
from grader.course.database.records import (
    Comment,
    Correction,
    Frozen,
    Grant,
    GrantKind,
    Likeness,
    Override,
    Remark,
    Score,
    Seen,
    Student,
)
from grader.course.database.service_tables import EventRow
from grader.course.database.store import Store
from grader.course.likeness.clusters import Cluster
from grader.course.likeness.notes import Kept, KeptAnswer, Note, State, add_note, put_comparison
from grader.service.adapters.database.database import DatabaseStore
from grader.service.core.door import Door
from grader.service.domain.records import Alias, HandIn, Role
from grader.service.ports.clock import WallClock

EVE = Student("eve17", "Eve Vanhattan", "", "student/eve17")
BOB = Student("bob42", "Bob Builder", "", "student/bob42")
EMAIL = "eve.vanhattan@uni.example"
NUMBER = "7004711"
CODE = "SECRET_OF_HER_CODE"
TRACES = (EVE.id, EVE.name, "Vanhattan, Eve", EMAIL, NUMBER, CODE)
TOML = """\
title = "T"
database = "{url}"
[deadlines]
1 = 2026-10-01T14:00:00+02:00
[extensions.eve17]
1 = 2026-10-03T14:00:00+02:00
[extensions.bob42]
1 = 2026-10-02T14:00:00+02:00
[service.opens]
1 = 2026-09-01T14:00:00+02:00
[extra_time]
eve17 = 25
"""
ROSTER = f"""\
id,name,email,number,repository,branch
{BOB.id},{BOB.name},bob@uni.example,7000001,,
{EVE.id},{EVE.name},{EMAIL},{NUMBER},,
"""
LOG = f"10:00 hand-in 1 of {EVE.id} was graded\n10:01 hand-in 2 of {BOB.id} was graded\n"


def remembered(folder: Path, url: str = "sqlite:///course.db") -> Path:
    """Make the course, and return its course.toml."""
    file = folder / "course.toml"
    file.write_text(TOML.format(url=url))
    (folder / "roster.csv").write_text(ROSTER)
    (folder / "service.log").write_text(LOG)
    course = load_course(file)
    with Store.open(course.database, folder) as store:
        store.put_students([BOB, EVE])
        run = store.start_run(LAB, NOON, students=[EVE.id])
        both = store.start_run(LAB, NOON, students=[BOB.id, EVE.id])
        for student in (EVE, BOB):
            _collected(folder, store, student)
            for at in (run, both):
                said = report({"norm/a": "failed"}, f"{student.name} expected 3")
                store.add_attempt(attempt(student.id, 50.0, run=at, report=said))
            mark = Override(student.id, LAB, 80.0, "Grace", f"{student.name} was ill", NOON)
            store.add_override(mark)
            store.add_grant(
                Grant(student.id, LAB, GrantKind.WAIVER, None, True, "Grace", "ill", NOON)
            )
        store.add_override(Override(BOB.id, LAB, 70.0, "Grace", f"as {EVE.id} had it", after(1)))
        copied = report({"norm/a": "failed"}, f"# by {EVE.name} <{EMAIL}>")
        store.add_attempt(attempt(BOB.id, 40.0, run=both, commit="copied", report=copied))
        alike = [(EVE.id, BOB.id), (BOB.id, EVE.id), (BOB.id, "solutions/01_llama/llama.py")]
        store.put_likenesses(
            LAB, [Likeness(LAB, one, other, "/" not in other, 0.9, 0.8, 99) for one, other in alike]
        )
        _alike(store)
        _served(folder, store)
    spool = folder / ".inferlab" / "spool"
    spool.mkdir(parents=True)
    for student in (EVE, BOB):
        (spool / f"{LAB}-1-{student.id}-abc-0.json").write_text(f'{{"student": "{student.id}"}}')
    return file


def _collected(folder: Path, store: Store, student: Student) -> None:
    path = f"collected/{LAB}/{student.id}/c0ffee"
    (folder / path).mkdir(parents=True)
    (folder / path / "llama.py").write_text(_code(student))
    remark = Remark(student.id, LAB, f"branch student/{EVE.id} looks like another's", NOON)
    store.add_frozen(
        Frozen(student.id, LAB, "c0ffee", after(-1), after(1), path, ""), remark=remark
    )


def _code(student: Student) -> str:
    return f"# {CODE}\n" if student == EVE else "x = 1\n"


def _served(folder: Path, course: Store) -> None:
    store = DatabaseStore(course)
    door = Door(store, WallClock())
    for count, student in enumerate((EVE, BOB)):
        path = f"hand-ins/{LAB}/20261001-{count}"
        (folder / path).mkdir(parents=True)
        (folder / path / "llama.py").write_text(_code(student))
        item: HandIn = store.receive(work(student.id), path, anything)
        assert finish(store, claim(store))
        _read(store, student.id, item.key)
        _returned(store, student, item.key)
        with course.writing() as session:
            session.add(EventRow(hand_in=item.number, kind="task", data={}, made=NOON))
        assert store.put_alias(Alias(student.id, LAB, f"the great {student.id}"))
        door.open(door.issue(student.id, Role.STUDENT))
    door.issue("Grace", Role.INSTRUCTOR)


def _read(store: DatabaseStore, student: str, commit: str) -> None:
    """Let somebody read, and say something of each kind."""
    said = (student, LAB, commit)
    store.reading.add_comment(Comment(*said, "Grace", f"as {EVE.id} wrote it", NOON))
    store.reading.add_correction(Correction(*said, "norm", 5.0, "Grace", f"see {EVE.name}", NOON))
    score = Score(*said, "plain", 2.0, "Grace", f"unlike {EVE.id}", NOON)
    store.reading.add_scores([score], lambda scores: ())
    store.reading.add_seen(Seen(*said, "Grace", NOON))


def _returned(store: DatabaseStore, student: Student, commit: str) -> None:
    """Let a student ask, and let a report go back by each way."""
    wish = (student.id, LAB, commit, "norm", "", 50.0, 10.0, f"{EVE.name} has more", student.id)
    number = store.returns.ask(Request(*wish, NOON))
    assert number is not None
    end = Answer(number, Ending.ANSWERED, "Grace", f"no, {EVE.id} has not", NOON)
    assert store.returns.end(end)
    store.returns.add_hold(Hold(student.id, LAB, True, "Grace", f"ask {EVE.name}", NOON))
    store.returns.add_address(Address(f"hash of {student.id}", student.id, LAB, "Grace", NOON))
    mail = EMAIL if student is EVE else "bob@uni.example"
    given = (student.id, LAB, Way.MAIL, Step.SENT, "digest", mail, f"to {EMAIL} too")
    store.returns.add_given(Given(*given, NOON))


def _alike(store: Store) -> None:
    """Let a comparison find both alike, and somebody say so."""
    pair = Likeness(LAB, EVE.id, BOB.id, True, 0.9, 0.8, 99)
    answers = [KeptAnswer(who.id, True, f"key {who.id}", f"c/{who.id}") for who in (EVE, BOB)]
    cluster = Cluster([EVE.id, BOB.id], 1, pair, (), 0, (), f"# {CODE}")
    put_comparison(store, Kept(LAB, NOON, 0.6, answers, [cluster], [f"{EVE.id} was cut"], []))
    about, said = f"{EVE.id}, {BOB.id}", f"{EVE.name} says so"
    add_note(store, Note(LAB, ("k1", "k2"), about, State.CONFIRMED, "Grace", said, NOON))


def cells(store: Store) -> Iterator[tuple[str, str]]:
    """Give every cell of a database as text, with its table; reports are unpacked."""
    from grader.course.persons.rows import plain, tables_of

    with store.reading() as session:
        connection = session.connection()
        for table in tables_of(connection):
            for row in connection.execute(table.select()):
                for value in row:
                    yield table.name, str(plain(value))


def traces(folder: Path) -> list[str]:
    """Return what below a folder names the student: files by their bytes, and by their names."""
    found: list[str] = []
    for file in sorted(folder.rglob("*")):
        data = file.read_bytes() if file.is_file() else b""
        found += [
            f"{file.name}: {trace}"
            for trace in TRACES
            if trace.encode() in data or trace in file.name
        ]
    return found


def rows(folder: Path, question: str) -> list[tuple[object, ...]]:
    """Ask the SQLite database of a course."""
    with sqlite3.connect(folder / "course.db") as connection:
        return connection.execute(question).fetchall()
