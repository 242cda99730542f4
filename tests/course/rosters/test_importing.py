"""``lab roster import``: who is new, gone or changed is shown, and nobody is dropped unsaid."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import app
from grader.course.grading.collecting.roster import read_emails, read_roster
from grader.course.rosters.importing import compare
from grader.course.rosters.people import Person

MOODLE = """\
First name,Surname,ID number,Username,Email address
Ada,Lovelace,7001,ada,ada@uni.example
Zoë,Müller,7003,zoe,zoe@uni.example
"""
ROSTER = """\
id,name,repository,branch,likes
ada,Ada L.,git@host:ada/labs.git,work,tea
bob,Bob B.,,,
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "course.toml").write_text('title = "T"\n')
    (tmp_path / "moodle.csv").write_text(MOODLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["roster", "import", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_first_list_becomes_a_roster_that_all_commands_read(run: Run, tmp_path: Path) -> None:
    code, out, err = run("moodle.csv", "--branch-pattern", "hand-in/{id}")

    roster = read_roster(tmp_path / "roster.csv", "remote")
    assert (code, err) == (0, "")
    assert "moodle.csv: a Moodle export, UTF-8 with commas; 2 students" in out
    assert "2 new, 0 gone, 0 changed, 0 as before" in out
    assert [(s.id, s.name, s.branch) for s in roster.students] == [
        ("ada", "Ada Lovelace", "hand-in/ada"),
        ("zoe", "Zoë Müller", "hand-in/zoe"),
    ]
    assert read_emails(tmp_path / "roster.csv")["zoe@uni.example"] == "zoe"
    assert (tmp_path / "roster.csv").stat().st_mode & 0o777 == 0o600


def test_what_only_our_roster_knows_stays(run: Run, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER)

    code, out, _ = run("moodle.csv")

    text = (tmp_path / "roster.csv").read_text(encoding="utf-8")
    ada = {"ada", "Ada Lovelace", "ada@uni.example", "git@host:ada/labs.git", "work", "tea"}
    assert code == 0
    assert ada <= {*text.splitlines()[1].split(",")}
    assert "changed  ada: name 'Ada L.' -> 'Ada Lovelace', email '' -> 'ada@uni.example'" in out
    assert "new      zoe  Zoë Müller" in out


def test_who_is_gone_stays_until_one_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER)

    _, out, _ = run("moodle.csv")
    assert "gone     bob  Bob B." in out
    assert "--remove takes them off" in out
    ids = [student.id for student in read_roster(tmp_path / "roster.csv", "remote").students]
    assert ids == ["ada", "zoe", "bob"]

    _, out, _ = run("moodle.csv", "--remove")
    assert "gone     bob  Bob B." in out
    ids = [student.id for student in read_roster(tmp_path / "roster.csv", "remote").students]
    assert ids == ["ada", "zoe"]


def test_dry_run_shows_all_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER)

    code, out, _ = run("moodle.csv", "--remove", "--dry-run")

    assert code == 0
    assert "1 new, 1 gone, 1 changed, 0 as before: nothing was written (--dry-run)" in out
    assert (tmp_path / "roster.csv").read_text() == ROSTER


def test_the_same_list_once_more_changes_nothing(run: Run, tmp_path: Path) -> None:
    run("moodle.csv")
    before = (tmp_path / "roster.csv").read_bytes()

    _, out, _ = run("moodle.csv")

    assert "0 new, 0 gone, 0 changed, 2 as before: nothing to write" in out
    assert (tmp_path / "roster.csv").read_bytes() == before


def test_list_with_a_mistake_writes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "moodle.csv").write_text(f"{MOODLE}=1+1,B,7004,eve,e@x.example\n", "utf-8")

    code, _, err = run("moodle.csv")

    assert code == 2
    assert "error: moodle.csv, row 4: '=1+1' looks like a formula" in err
    assert "1 rows of moodle.csv cannot be used" in err
    assert not (tmp_path / "roster.csv").exists()


@pytest.mark.parametrize("options", [("--id", "shoe"), ("--branch-pattern", "one/for/all")])
def test_option_that_means_nothing_is_refused(run: Run, options: tuple[str, str]) -> None:
    code, _, err = run("moodle.csv", *options)

    assert code == 2
    assert options[0] in err


def test_new_id_of_somebody_who_seems_gone_is_told() -> None:
    found = compare(
        [Person("ada", "Ada", "ada@x.example")], [Person("ada2", "Ada", "ada@x.example")]
    )

    assert [*found.lines] == [
        "new      ada2  Ada",
        "         has the e-mail address of ada, who is gone: one person?",
        "gone     ada  Ada",
    ]
