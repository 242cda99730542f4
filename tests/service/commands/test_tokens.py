"""``lab token``: what is printed where, and that nobody can be told a token twice."""

import csv
import io
import sqlite3
from pathlib import Path

import pytest

from grader.__main__ import main

COURSE = 'title = "Inference"\n[deadlines]\n2 = 2100-01-01T00:00:00Z\n'


@pytest.fixture
def course(tmp_path: Path) -> str:
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\n")
    file = tmp_path / "course.toml"
    file.write_text(COURSE)
    return str(file)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["token", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_token_alone_goes_to_standard_output(
    capsys: pytest.CaptureFixture[str], course: str
) -> None:
    code, out, err = run(capsys, "ada", "--course", course)

    assert code == 0
    assert out.startswith("inferlab_")
    assert out.count("\n") == 1
    assert "shown this once" in err


def test_the_database_has_no_token(capsys: pytest.CaptureFixture[str], course: str) -> None:
    _, out, _ = run(capsys, "ada", "--course", course)

    database = Path(course).with_name("course.db")
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert out.strip().removeprefix("inferlab_").encode() not in database.read_bytes()


def test_everybody_who_has_none_gets_one(capsys: pytest.CaptureFixture[str], course: str) -> None:
    run(capsys, "ada", "--course", course)

    code, out, err = run(capsys, "--all", "--course", course)
    rows = [*csv.DictReader(io.StringIO(out))]

    assert code == 0
    assert [(row["id"], row["name"]) for row in rows] == [("bob", "Bob")]
    assert rows[0]["token"].startswith("inferlab_")
    assert "1 tokens" in err


def test_a_revoked_one_can_be_replaced(capsys: pytest.CaptureFixture[str], course: str) -> None:
    run(capsys, "ada", "--course", course)

    assert run(capsys, "--revoke", "ada", "--course", course)[0] == 0
    assert run(capsys, "--revoke", "ada", "--course", course)[0] == 1
    assert "ada" in run(capsys, "--all", "--course", course)[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "a token for whom?"),
        (("ada", "--all"), "NAME and --all at once"),
        (("mallory",), "no student 'mallory' is on the roster"),
    ],
)
def test_what_makes_no_sense_is_a_line(
    capsys: pytest.CaptureFixture[str], course: str, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = run(capsys, *arguments, "--course", course)

    assert (code, out) == (2, "")
    assert told in err


def test_staff_are_on_no_roster(capsys: pytest.CaptureFixture[str], course: str) -> None:
    code, out, _ = run(capsys, "Grace", "--role", "instructor", "--course", course)

    assert code == 0
    assert out.startswith("inferlab_")
