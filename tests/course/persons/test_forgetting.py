"""A student is forgotten: nothing that the course keeps names them, and all others keep theirs."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("fastapi", reason="needs the extra service")

from stand_ins import postgres
from stand_ins.classroom import LAB
from stand_ins.handed_in import emptied
from stand_ins.remembered import BOB, CODE, EMAIL, EVE, TRACES, cells, remembered, rows, traces

from grader.cli import app
from grader.course.config import load_course
from grader.course.database.store import Store
from grader.course.persons.files import roster_without
from grader.course.persons.words import Known, Words

SAID = ("--author", "Grace", "--reason", "asked for it")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    why = postgres.missing()
    if why:
        pytest.skip(why)
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite:///course.db"
    return emptied(request.getfixturevalue("server"))


def cells_that_name(file: Path) -> list[str]:
    course = load_course(file)
    with Store.open(course.database, course.folder) as store:
        return [f"{table}: {cell[:200]}" for table, cell in cells(store) if any_of(cell)]


def any_of(text: str) -> bool:
    return any(trace in text for trace in TRACES)


def test_nothing_names_who_was_forgotten(run: Run, tmp_path: Path, url: str) -> None:
    file = remembered(tmp_path, url)
    (tmp_path / "backups").mkdir()
    assert run("backup", "backups/one.tar.gz")[0] == 0
    assert len(cells_that_name(file)) > 20

    code, out, err = run(
        *("gradebook", "forget", EVE.id, *SAID),
        *("--backups", "backups", "--log", "service.log"),
    )

    assert (code, err) == (0, "")
    assert cells_that_name(file) == []
    assert traces(tmp_path) == []
    assert "one.tar.gz" in out
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "course.toml").write_text('title = "T"\n')
    assert run("restore", "backups/one.tar.gz", "--course", "again/course.toml")[0] == 0
    assert traces(tmp_path) == []
    assert cells_that_name(tmp_path / "again" / "course.toml") == []


def test_others_keep_all_that_is_theirs(run: Run, tmp_path: Path, url: str) -> None:
    file = remembered(tmp_path, url)
    course = load_course(file)

    assert run("gradebook", "forget", EVE.id, *SAID)[0] == 0

    with Store.open(course.database, tmp_path) as store:
        assert store.students() == [BOB]
        assert len(store.attempts(student=BOB.id)) == 4
        assert [o.points for o in store.overrides()] == [80.0, 70.0]
        assert store.overrides()[1].reason == "as [forgotten] had it"
        assert store.overrides()[0].reason == f"{BOB.name} was ill"
        assert [grant.student for grant in store.grants()] == [BOB.id]
        assert [like.other for like in store.likenesses()] == ["solutions/01_llama/llama.py"]
        tests = store.attempts(student=BOB.id)[2].report["tests"]
        assert isinstance(tests, list)
        assert tests[0]["message"] == "# by [forgotten] <[forgotten]>"
    assert (tmp_path / "collected" / LAB / BOB.id / "c0ffee" / "llama.py").exists()
    assert len([*(tmp_path / "hand-ins").rglob("llama.py")]) == 1
    assert [path.name for path in (tmp_path / ".inferlab" / "spool").iterdir()] == [
        f"{LAB}-1-{BOB.id}-abc-0.json"
    ]
    assert BOB.id in (tmp_path / "roster.csv").read_text()
    assert list(load_course(file).extensions) == [(BOB.id, 1)]


def test_run_for_who_was_forgotten_does_not_become_one_of_the_class(
    run: Run, tmp_path: Path
) -> None:
    remembered(tmp_path)

    run("gradebook", "forget", EVE.id, *SAID)

    assert [students for (students,) in rows(tmp_path, "SELECT students FROM runs")][:2] == [
        "-",
        BOB.id,
    ]


def test_what_stays_says_that_somebody_was_forgotten_and_never_who(
    run: Run, tmp_path: Path
) -> None:
    remembered(tmp_path)

    run("gradebook", "forget", EVE.id, *SAID)

    assert rows(tmp_path, "SELECT author, reason FROM forgettings") == [("Grace", "asked for it")]


def test_tables_are_append_only_again_afterwards(run: Run, tmp_path: Path, url: str) -> None:
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import DatabaseError

    from grader.course.database.connection import located

    file = remembered(tmp_path, url)
    run("gradebook", "forget", EVE.id, *SAID)

    engine = create_engine(located(load_course(file).database, tmp_path))
    for table in ("attempts", "overrides", "grants", "comments", "forgettings"):
        with pytest.raises(DatabaseError, match="append-only"), engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()


def test_dry_run_tells_all_and_deletes_nothing(run: Run, tmp_path: Path) -> None:
    remembered(tmp_path)
    run("backup", "one.tar.gz")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.suffix != ".db-shm"
              and path.is_file()}  # fmt: skip

    code, out, _ = run(
        *("gradebook", "forget", EVE.id, *SAID),
        *("--backups", ".", "--log", "service.log", "--dry-run"),
    )

    assert code == 1  # the course's own folder is no folder of backups: its files are told
    assert "attempts: 3 rows would be deleted" in out
    assert "one.tar.gz" in out
    left = {path: path.read_bytes() for path in before if path.exists()}
    assert {p: d for p, d in left.items() if ".db" not in p.name} == {
        p: d for p, d in before.items() if ".db" not in p.name
    }
    assert rows(tmp_path, "SELECT count(*) FROM forgettings") == [(0,)]


def test_work_of_others_that_names_the_person_is_told_and_stays(run: Run, tmp_path: Path) -> None:
    remembered(tmp_path)
    copied = tmp_path / "collected" / LAB / BOB.id / "c0ffee" / "llama.py"
    copied.write_text(f"# {EVE.name}\n")

    code, _, err = run("gradebook", "forget", EVE.id, *SAID)

    assert code == 1
    assert f"still names the person: {copied}" in err
    assert copied.read_text() == f"# {EVE.name}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nobody9", *SAID), "nothing is kept of 'nobody9'"),
        ((EVE.id, "--author", "Grace", "--reason", " "), "--reason is empty"),
        ((EVE.id, "--author", "Grace", "--reason", f"{EVE.name} left"), "--reason names the"),
        ((EVE.id, *SAID, "--backups", "none"), "there is no folder none"),
    ],
)
def test_wish_that_cannot_be_met_deletes_nothing(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    remembered(tmp_path)

    code, _, err = run("gradebook", "forget", *arguments)

    assert code == 2
    assert told in err
    assert rows(tmp_path, f"SELECT count(*) FROM attempts WHERE student = '{EVE.id}'") == [(3,)]
    assert rows(tmp_path, "SELECT count(*) FROM forgettings") == [(0,)]


def test_course_file_that_names_the_person_elsewhere_is_told_with_its_line(
    run: Run, tmp_path: Path
) -> None:
    file = remembered(tmp_path)
    text = file.read_text().replace("[extensions.eve17]\n1 =", "[extensions]\neve17.1 =")
    file.write_text(text.replace('"T"', '"T of eve17"'))

    code, _, err = run("gradebook", "forget", EVE.id, *SAID)

    assert code == 2
    assert "course.toml, line 1, names eve17" in err


def test_row_that_no_command_could_use_leaves_the_roster_too(tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text("id,name,email\neve17,=1+1,e@x.example\nbob42,Bob,\n")

    assert roster_without(file, "eve17") == b"id,name,email\nbob42,Bob,\n"
    assert roster_without(file, "eve1") is None


def test_roster_of_whom_the_last_one_was_forgotten_is_a_header(tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text("id,name\neve17,Eve V.\n")

    left = roster_without(file, "eve17")

    assert left == b"id,name\n"
    file.write_bytes(left)
    assert roster_without(file, "eve17") is None


KILLED = """
import os, signal, sys
from grader.cli import app
from grader.course.persons import copies, files, forgetting, rows

step, count = sys.argv[1], 0
places = {
    "journal": (forgetting, "begin"), "restored": (copies, "restore"),
    "backup": (copies, "back_up"),
    "files": (forgetting, "remove_all"), "lists": (forgetting, "write_file"),
    "rows": (forgetting, "remove"), "commit": (forgetting, "_overwrite"),
}
module, name = places[step]
real = getattr(module, name)

def dies(*given, **named):
    real(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(module, name, dies)
app.main(sys.argv[2:])
"""


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "step", ["journal", "restored", "backup", "files", "lists", "rows", "commit"]
)
def test_whoever_is_killed_on_the_way_ends_the_same(run: Run, tmp_path: Path, step: str) -> None:
    file = remembered(tmp_path)
    (tmp_path / "backups").mkdir()
    run("backup", "backups/one.tar.gz")
    wish = ("gradebook", "forget", EVE.id, *SAID, "--backups", "backups", "--log", "service.log")
    first = subprocess.run(
        [sys.executable, "-c", KILLED, step, *wish],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert first.returncode == -signal.SIGKILL

    code, _, err = run(*wish)

    assert (code, err) == (0, "")
    assert traces(tmp_path) == []
    assert cells_that_name(file) == []
    assert rows(tmp_path, "SELECT author, reason FROM forgettings") == [("Grace", "asked for it")]
    assert not (tmp_path / ".inferlab" / "forgetting.json").exists()
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["one.tar.gz"]


def test_another_person_waits_until_who_was_begun_with_is_forgotten(
    run: Run, tmp_path: Path
) -> None:
    remembered(tmp_path)
    subprocess.run(
        [sys.executable, "-c", KILLED, "files", "gradebook", "forget", EVE.id, *SAID], check=False
    )

    code, _, err = run("gradebook", "forget", BOB.id, *SAID)

    assert code == 2
    assert f"{EVE.id} was being forgotten when that was cut off" in err


# All of one student, given out


def unzipped(file: Path) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_archive_holds_all_of_a_student_and_nothing_of_others(
    run: Run, tmp_path: Path, url: str
) -> None:
    remembered(tmp_path, url)

    code, out, _ = run(
        "gradebook", "student-data", EVE.id, "--to", "eve.zip", "--log", "service.log"
    )

    found = unzipped(tmp_path / "eve.zip")
    assert code == 0
    assert out.startswith("eve.zip: ")
    tables = {Path(name).stem for name in found if name.startswith("database/")}
    assert tables == {
        *("students", "frozen", "remarks", "attempts", "overrides", "grants", "likenesses"),
        *("hand_ins", "events", "comments", "tokens", "sessions", "aliases"),
        *("requests", "answers", "holds", "addresses", "given_back"),
        *("corrections", "scores", "seen"),
    }
    assert found[f"files/collected/{LAB}/{EVE.id}/c0ffee/llama.py"] == f"# {CODE}\n"
    assert found[f"files/hand-ins/{LAB}/20261001-0/llama.py"] == f"# {CODE}\n"
    assert found[f"files/.inferlab/spool/{LAB}-1-{EVE.id}-abc-0.json"]
    assert json.loads(found["student.json"])["roster"]["email"] == EMAIL
    assert json.loads(found["student.json"])["extra_time_percent"] == 25
    assert json.loads(found["marks.json"])[0]["points"] == 80.0
    assert found["log.txt"].splitlines() == ["10:00 hand-in 1 of eve17 was graded"]
    assert len([name for name in found if name.startswith("reports/")]) == 3
    assert "another student" in found["database/likenesses.json"]
    for name, text in found.items():
        assert name.count(BOB.id) == 0
        assert BOB.id not in text, name
        assert BOB.name not in text, name
    assert (tmp_path / "eve.zip").stat().st_mode & 0o777 == 0o600


def test_archive_tells_no_secret(run: Run, tmp_path: Path) -> None:
    remembered(tmp_path)
    secrets = {
        text
        for row in rows(
            tmp_path, "SELECT hash FROM tokens UNION SELECT hash FROM sessions"
            " UNION SELECT csrf FROM sessions"
        )
        for text in row
    }  # fmt: skip

    run("gradebook", "student-data", EVE.id, "--to", "eve.zip")

    whole = "".join(unzipped(tmp_path / "eve.zip").values())
    assert len(secrets) == 7
    assert [secret for secret in secrets if str(secret) in whole] == []


def test_archive_says_what_is_what(run: Run, tmp_path: Path) -> None:
    remembered(tmp_path)

    run("gradebook", "student-data", EVE.id, "--to", "eve.zip")

    readme = unzipped(tmp_path / "eve.zip")["README.txt"]
    assert f'All that the course "T" keeps of {EVE.name} ({EVE.id})' in readme
    assert "attempts: each grading: points, when, of which commit" in readme


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nobody9", "--to", "new.zip"), "nothing is kept of 'nobody9'"),
        ((EVE.id, "--to", "roster.csv"), "roster.csv exists already"),
    ],
)
def test_archive_that_cannot_be_is_one_line(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    remembered(tmp_path)

    code, _, err = run("gradebook", "student-data", *arguments)

    assert code == 2
    assert told in err


# By which words a person is known


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("branch student/s17 is s17's", "branch student/[forgotten] is [forgotten]'s"),
        ("s17, S17.", "[forgotten], [forgotten]."),
        ("s170 as17 s17-old s17.git s17_x", "s170 as17 s17-old s17.git s17_x"),
        ("by ada  LOVELACE; Lovelace, Ada", "by [forgotten]; [forgotten]"),
        ("Ada is another one", "Ada is another one"),
        ("A.L@x.example!", "[forgotten]!"),
    ],
)
def test_person_is_taken_out_of_a_text_and_nobody_else(text: str, expected: str) -> None:
    words = Words([Known("s17", "Ada Lovelace", "a.l@x.example")])

    assert words.without(text) == expected


def test_short_numbers_and_plain_words_stay_in_what_programs_wrote() -> None:
    words = Words([Known("norm", "Ada", "", ("12", "7004711"))])

    assert words.without("norm took 12 ms; 7004711", strict=True) == "norm took 12 ms; [forgotten]"
