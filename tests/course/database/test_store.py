"""The course database on SQLite and on PostgreSQL: what is kept, what is refused, what survives."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DatabaseError
from stand_ins import postgres
from stand_ins.classroom import (
    ADA,
    BOB,
    CYD,
    HOSTILE_MESSAGE,
    LAB,
    NOON,
    after,
    attempt,
    frozen,
    override,
)

from grader.course.database import connection as databases
from grader.course.database import tables
from grader.course.database.records import Comment, Grant, GrantKind, Likeness, Remark, Student
from grader.course.database.store import Store
from grader.errors import StoreError, UsageError

NOT_HERE = postgres.missing()
EXTENDED = Grant("ada", LAB, GrantKind.EXTENSION, NOON, True, "A. Teacher", "ill", NOON)
WAIVED = Grant("ada", LAB, GrantKind.WAIVER, None, False, "A. Teacher", "a mistake", NOON)
ROOT = Path(__file__).resolve().parents[3]
REMARK = Remark("ada", LAB, f"branch {HOSTILE_MESSAGE} \u202e looks like ada's", after(1))


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    if NOT_HERE:
        pytest.skip(NOT_HERE)
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/course.db"
    address = request.getfixturevalue("postgres_url")
    engine = create_engine(databases.located(address, None))
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return address


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store with a roster of three and one run."""
    with Store.open(url) as opened:
        opened.put_students([ADA, BOB, CYD])
        opened.start_run(LAB, NOON, "first")
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An SQLite database with one attempt in it."""
    with Store.open("sqlite:///course.db", tmp_path) as opened:
        opened.put_students([ADA])
        opened.start_run(LAB, NOON)
        opened.add_attempt(attempt("ada"))
    return tmp_path / "course.db"


def test_what_was_kept_comes_back_the_same(store: Store, url: str) -> None:
    likeness = Likeness(LAB, "ada", "bob", True, 0.9, 0.8, 1200)
    message = {"message": f"{HOSTILE_MESSAGE} \x00 \u202e", "points": 1.5, "tests": [1, None]}
    store.add_frozen(frozen("bob", "frozen/bob"))
    store.add_attempt(attempt("ada", report=message))
    store.add_override(override("ada", 80.0))
    store.add_override(override("ada", None))
    store.add_grant(EXTENDED)
    store.add_grant(WAIVED)
    store.put_likenesses(LAB, [likeness])

    with Store.open(url) as again:
        assert again.students() == [ADA, BOB, CYD]
        assert again.frozen(LAB) == [frozen("bob", "frozen/bob")]
        assert [(run.id, run.lab, run.started, run.note) for run in again.runs(LAB)] == [
            ("1", LAB, NOON, "first")
        ]
        assert again.attempts() == [attempt("ada", report=message)]
        assert again.overrides(LAB) == [override("ada", 80.0), override("ada", None)]
        assert again.grants() == [EXTENDED, WAIVED]
        assert again.likenesses() == [likeness]


def test_a_moment_comes_back_in_utc_whatever_its_zone(store: Store) -> None:
    local = datetime(2026, 10, 1, 14, tzinfo=timezone(timedelta(hours=2)))

    store.add_attempt(attempt("ada", submitted=local))

    found = store.attempts()[0].submitted
    assert found == NOON
    assert found is not None
    assert found.tzinfo is UTC


def test_a_moment_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no time zone"):
        store.add_attempt(attempt("ada", submitted=datetime(2026, 10, 1)))

    assert store.attempts() == []


def test_text_that_a_database_cannot_hold_is_kept_but_for_that(store: Store) -> None:
    store.put_students([Student("ada", "A\0d\ud800a \N{GRINNING FACE}", "", "b")])

    assert store.students()[0].name == "A\ufffdd\ufffda \N{GRINNING FACE}"


def test_an_attempt_is_recorded_once_per_run_and_commit(store: Store) -> None:
    second = store.start_run(LAB, after(50))

    added = [
        store.add_attempt(attempt("ada", 50.0)),
        store.add_attempt(attempt("ada", 99.0)),
        store.add_attempt(attempt("ada", 60.0, commit="beef")),
        store.add_attempt(attempt("ada", 70.0, run=second)),
        store.add_attempt(attempt("bob", 10.0)),
    ]

    assert added == [True, False, True, True, True]
    assert [item.points for item in store.attempts(student="ada")] == [50.0, 60.0, 70.0]
    assert [item.points for item in store.attempts(run=second)] == [70.0]
    assert [item.student for item in store.attempts(lab=LAB, run="1")] == ["ada", "ada", "bob"]
    assert store.attempts(lab="02_batching") == []


def test_a_grading_that_failed_by_our_fault_leaves_room_for_one_that_succeeds(store: Store) -> None:
    added = [
        store.add_attempt(attempt("ada", 0.0, exit_code=3)),
        store.add_attempt(attempt("ada", 0.0, exit_code=3)),
        store.add_attempt(attempt("ada", 90.0)),
        store.add_attempt(attempt("ada", 10.0)),
    ]

    assert added == [True, False, True, False]
    assert [item.points for item in store.attempts()] == [0.0, 90.0]


@pytest.mark.parametrize("change", ["UPDATE {} SET lab = 'x'", "DELETE FROM {}"])
@pytest.mark.parametrize("table", ["attempts", "overrides", "remarks", "grants"])
def test_the_database_itself_refuses_to_change_a_record(
    store: Store, url: str, table: str, change: str
) -> None:
    store.add_attempt(attempt("ada"))
    store.add_override(override("ada", 80.0))
    store.add_frozen(remark=REMARK)
    store.add_grant(EXTENDED)
    engine = create_engine(databases.located(url, None))

    with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
        connection.execute(text(change.format(table)))

    engine.dispose()
    assert store.attempts() == [attempt("ada")]
    assert store.overrides() == [override("ada", 80.0)]
    assert store.remarks() == [REMARK]
    assert store.grants() == [EXTENDED]


def test_an_attempt_of_nobody_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="knows no such student or run"):
        store.add_attempt(attempt("nobody"))
    with pytest.raises(StoreError, match="knows no such student or run"):
        store.add_attempt(attempt("ada", run="77"))

    assert store.attempts() == []


def test_who_leaves_the_roster_is_no_longer_listed_and_keeps_every_record(store: Store) -> None:
    renamed = Student("cyd", "Cyd New", "https://example.org/cyd", "main")
    store.add_attempt(attempt("ada"))
    store.add_frozen(frozen("ada", "x"))

    store.put_students([renamed, BOB])

    assert store.students() == [renamed, BOB]
    assert store.frozen(LAB) == []
    assert store.attempts() == [attempt("ada")]
    store.put_students([ADA])
    assert store.frozen(LAB) == [frozen("ada", "x")]


def test_of_what_was_collected_the_newest_counts(store: Store) -> None:
    store.add_frozen(frozen("bob", "old"))
    store.add_frozen(frozen("ada", "", "branch student/ada is missing"))
    store.add_frozen(frozen("bob", "new"))

    assert [(item.student, item.path) for item in store.frozen(LAB)] == [
        ("ada", ""),
        ("bob", "new"),
    ]
    assert store.collected_labs() == [LAB]


def test_of_remarks_the_newest_of_a_student_and_lab_is_told(store: Store, url: str) -> None:
    other = Remark("bob", LAB, "the branch was rewritten", after(1))
    older = Remark("ada", "02_batching", "its date lies in the future", after(1))
    for remark in (Remark("ada", LAB, "before", after(0)), other, older, REMARK):
        store.add_frozen(remark=remark)

    with Store.open(url) as again:
        assert again.remarks(LAB) == [REMARK, other]
        assert again.remarks() == [REMARK, other, older]


def test_an_empty_remark_takes_the_last_one_back_and_nothing_is_removed(
    store: Store, url: str
) -> None:
    store.add_frozen(remark=REMARK)
    store.add_frozen(remark=Remark("ada", LAB, "", after(2)))

    assert store.remarks() == []
    engine = create_engine(databases.located(url, None))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM remarks")) == 2
    engine.dispose()


def test_what_was_collected_and_its_remark_are_kept_together_or_not_at_all(store: Store) -> None:
    with pytest.raises(StoreError, match="knows no such student"):
        store.add_frozen(frozen("ada", "x"), remark=Remark("nobody", LAB, "x", after(1)))

    assert (store.frozen(LAB), store.remarks()) == ([], [])


def test_a_new_comparison_replaces_the_old_one_of_its_lab(store: Store) -> None:
    other = Likeness("02_batching", "ada", "bob", True, 0.7, 0.7, 900)
    store.put_likenesses(LAB, [Likeness(LAB, "ada", "bob", True, 0.9, 0.8, 1200)])
    store.put_likenesses("02_batching", [other])

    store.put_likenesses(LAB, [])

    assert store.likenesses() == [other]
    assert store.likenesses(LAB) == []


def test_the_migrations_make_the_tables_that_the_code_uses(store: Store, url: str) -> None:
    engine = create_engine(databases.located(url, None))
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), tables.Table.metadata)
    engine.dispose()

    assert found == []


def test_an_older_database_is_brought_up_to_date_with_its_rows(url: str) -> None:
    place = databases.located(url, None)
    engine = databases.connect(place, 5.0)
    with databases.writing(engine).begin() as connection:
        databases.upgrade(connection, "0001")
        for row in (
            "INSERT INTO students VALUES ('ada', 'Ada L.', '', 'student/ada', 0)",
            "INSERT INTO runs (lab, started, note) VALUES ('01_llama', '2026-10-01 12:00:00', 'x')",
            "INSERT INTO overrides (student, lab, points, author, reason, made) VALUES"
            " ('ada', '01_llama', 80, 'A. Teacher', 'oral exam', '2026-10-03 04:00:00')",
        ):
            connection.execute(text(row))
        connection.execute(tables.AttemptRow.__table__.insert().values(**_row()))
    engine.dispose()

    with Store.open(url) as store:
        assert store.students() == [ADA]
        assert [run.id for run in store.runs()] == ["1"]
        assert store.attempts() == [attempt("ada")]
        assert store.overrides() == [override("ada", 80.0)]
        store.put_likenesses(LAB, [Likeness(LAB, "ada", "bob", True, 0.9, 0.8, 1200)])
    with Store.open(url) as store:
        assert len(store.likenesses()) == 1


def test_a_database_of_before_remarks_were_kept_has_none_and_takes_some(url: str) -> None:
    engine = databases.connect(databases.located(url, None), 5.0)
    row = {name: getattr(frozen("ada", "x"), name) for name in ("student", "lab", "path")}
    moments = {"committed": after(-1), "collected": after(1), "up_to": None}
    with databases.writing(engine).begin() as connection:
        databases.upgrade(connection, "0006")
        student = "INSERT INTO students VALUES ('ada', 'Ada L.', '', 'student/ada', 0)"
        connection.execute(text(student))
        values = row | moments | {"commit_id": "c0ffee", "problem": ""}
        connection.execute(tables.FrozenRow.__table__.insert().values(**values))
    engine.dispose()

    with Store.open(url) as store:
        assert store.frozen(LAB) == [frozen("ada", "x")]
        assert store.remarks() == []
        store.add_frozen(remark=REMARK)
    with Store.open(url) as store:
        assert store.remarks() == [REMARK]


def _row() -> dict[str, object]:
    given = attempt("ada")
    names = ("student", "lab", "submitted", "graded", "seconds", "points", "possible", "exit_code")
    values: dict[str, object] = {name: getattr(given, name) for name in names}
    return values | {"run_id": "1", "commit_id": "c0ffee", "infra": False, "report": given.report}


def test_a_database_of_a_newer_version_is_left_alone(store: Store, url: str) -> None:
    store.add_attempt(attempt("ada"))
    engine = create_engine(databases.located(url, None))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))

    with pytest.raises(StoreError, match=r"newer version .*0999.*known here: up to") as told:
        Store.open(url)

    assert "update the course repository" in told.value.hint
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).all() == [
            ("0999",)
        ]
    engine.dispose()


WRITER = """
import sys
from stand_ins.classroom import attempt
from grader.course.database.store import Store
with Store.open(sys.argv[1]) as store:
    for number in range(25):
        assert store.add_attempt(attempt("ada", commit=f"{sys.argv[2]}-{number}"))
        store.add_attempt(attempt("bob", commit=f"both-{number}"))
"""


def run_python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_several_processes_write_at_once_and_lose_nothing(store: Store, url: str) -> None:
    writers = [run_python(WRITER, url, str(number)) for number in range(3)]

    said = [writer.communicate()[0] for writer in writers]

    assert said == ["", "", ""]
    assert len(store.attempts(student="ada")) == 75
    assert len(store.attempts(student="bob")) == 25


def test_processes_that_open_a_new_database_at_once_make_it_once(url: str) -> None:
    opening = (
        "import sys; from grader.course.database.store import Store; "
        "Store.open(sys.argv[1]).close()"
    )

    said = [opener.communicate()[0] for opener in [run_python(opening, url) for _ in range(3)]]

    assert said == ["", "", ""]
    with Store.open(url) as store:
        assert store.students() == []


def test_a_locked_database_is_a_line_and_nothing_is_lost(file: Path) -> None:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with Store.open(f"sqlite:///{file}", wait=0.1) as store:
        with pytest.raises(StoreError, match=r"course\.db is locked by another program") as told:
            store.add_attempt(attempt("ada", commit="beef"))
        assert store.attempts() == [attempt("ada")]
        other.execute("ROLLBACK")
        assert store.add_attempt(attempt("ada", commit="beef"))
    other.close()
    assert told.value.hint


def test_a_damaged_database_is_a_line(file: Path) -> None:
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)

    with pytest.raises(StoreError, match="is damaged"):
        Store.open(f"sqlite:///{file}")


def test_a_file_that_is_no_database_is_a_line_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "course.db"
    file.write_text("id,name\n" * 500)

    with pytest.raises(StoreError, match="is damaged, or no database"):
        Store.open(f"sqlite:///{file}")

    assert file.read_text() == "id,name\n" * 500


FULL = """
import os, resource, sys
from stand_ins.classroom import attempt
from grader.course.database.store import Store
from grader.errors import StoreError
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
with Store.open(sys.argv[1]) as store:
    for number in range(100):
        try:
            report = {"x": os.urandom(9000).hex()}
            store.add_attempt(attempt("ada", commit=str(number), report=report))
        except StoreError as error:
            print(number, error)
            break
"""


def test_a_file_that_may_not_grow_is_a_line_and_nothing_is_lost(file: Path) -> None:
    said, _ = run_python(FULL, f"sqlite:///{file}", "limit").communicate()

    count, _, line = said.strip().partition(" ")
    assert "cannot be written: disk I/O error" in line
    assert "\n" not in line
    with Store.open(f"sqlite:///{file}") as store:
        kept = [item.commit for item in store.attempts()]
        assert kept == ["c0ffee", *map(str, range(int(count)))]
        assert store.add_attempt(attempt("ada", commit="later"))


def test_a_full_disk_is_a_line_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk takes root")
    try:
        url = f"sqlite:///{folder}/course.db"
        with Store.open(url) as store:
            store.put_students([ADA])
            store.start_run(LAB, NOON)
            said, _ = run_python(FULL, url, "disk").communicate()
            count, _, line = said.strip().partition(" ")
            assert "does not fit on the disk" in line
            assert "\n" not in line
            assert [item.commit for item in store.attempts()] == [*map(str, range(int(count)))]
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_database_that_may_only_be_read_is_a_line(file: Path) -> None:
    # Permissions would not bind root.
    with Store.open(f"sqlite:///file:{file}?mode=ro&uri=true") as store:
        assert store.attempts() == [attempt("ada")]
        with pytest.raises(StoreError, match="is read-only"):
            store.add_attempt(attempt("ada", commit="beef"))


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("course.db", "is no URL"),
        ("mysql://host/course", "no database of the kind mysql"),
        ("nonsense://host/course", "no database of the kind nonsense"),
        ("sqlite:////nowhere/at/all/course.db", "there is no folder /nowhere/at/all"),
        ("postgresql+nodriver://host/course", "no driver of the name"),
    ],
)
def test_a_wrong_url_is_a_line(url: str, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        Store.open(url)


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE or "it is here")
def test_a_server_that_does_not_answer_is_a_line_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not answer") as told:
        Store.open(f"postgresql://tester:secret@/postgres?host={tmp_path}")

    assert "secret" not in f"{told.value.message} {told.value.hint}"


def test_a_relative_path_starts_at_the_course_folder(tmp_path: Path) -> None:
    assert databases.located("sqlite:///a/course.db", tmp_path) == make_url(
        f"sqlite:///{tmp_path}/a/course.db"
    )
    assert databases.located("sqlite:////b/course.db", tmp_path).database == "/b/course.db"


def test_a_new_database_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Store.open("sqlite:///course.db", tmp_path).close()
    finally:
        os.umask(before)

    assert (tmp_path / "course.db").stat().st_mode & 0o777 == 0o600


def test_comments_on_hand_ins_of_an_older_schema_are_kept(url: str) -> None:
    engine = databases.connect(databases.located(url, None), 5.0)
    now = "'2026-10-01 12:00:00'" if url.startswith("sqlite") else "'2026-10-01 12:00:00+00'"
    with databases.writing(engine).begin() as connection:
        databases.upgrade(connection, "0009")
        for line in (
            "students VALUES ('ada', 'Ada', '', 'main', 0)",
            "hand_ins (id, student, lab, sha256, received, origin, device, note, commit_id, path,"
            " state, tries, worker, failure)"
            f" VALUES (7, 'ada', '01_llama', 'ab', {now}, 'web', 'cpu', '', '', 'p', 'graded', 1,"
            " '', '')",
            f"comments (id, hand_in, author, text, made) VALUES (3, 7, 'T', 'hm', {now})",
        ):
            connection.execute(text(f"INSERT INTO {line}"))
    engine.dispose()

    with Store.open(url) as store:
        assert store.comments() == [Comment("ada", LAB, "handin-7", "T", "hm", NOON)]
