"""The key by which a learning platform knows the course, and what ``[service.lti]`` may say."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra lti")

from grader.cli import app
from grader.course.config import load_course
from grader.course.database.store import Store
from grader.errors import CourseError, UsageError
from grader.service.adapters.web.shared.site import Launches
from grader.service.commands.lti import launches_of

TOML = """\
title = "T"
[service]
address = "https://labs.example.org"
[service.lti]
issuer = "https://lms.example.org"
client_id = "7"
deployments = ["1"]
login_url = "https://lms.example.org/auth"
token_url = "https://lms.example.org/token"
keys_url = "https://lms.example.org/keys"
"""
ROSTER = "id,name,email,number,lti\nada,Ada,ada@x.example,7001,u-17\nbob,Bob,,,\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "course.toml").write_text(TOML)
    (tmp_path / "roster.csv").write_text(ROSTER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_in(folder: Path) -> Launches | None:
    with Store.open("sqlite:///course.db", folder) as store:
        return launches_of(load_course(folder / "course.toml"), store)


def test_key_is_made_once_and_is_its_owners_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["lti", "key"]) == 0
    first = (folder / "lti-key.pem").read_bytes()
    assert "https://labs.example.org/lti/keys.json" in capsys.readouterr().out
    assert (folder / "lti-key.pem").stat().st_mode & 0o777 == 0o600

    assert app.main(["lti", "key"]) == 0
    assert (folder / "lti-key.pem").read_bytes() == first


def test_students_are_known_by_what_the_roster_has_of_them(folder: Path) -> None:
    app.main(["lti", "key"])

    found = found_in(folder)

    assert found is not None
    assert found.students == {
        "lti u-17": "ada",
        "number 7001": "ada",
        "email ada@x.example": "ada",
    }
    assert not found.instructors


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda file: file.unlink(), r"there is no key lti-key\.pem"),
        (lambda file: file.chmod(0o640), r"others may read the key lti-key\.pem"),
        (lambda file: file.write_text("no key"), r"the key lti-key\.pem cannot be read"),
    ],
    ids=["none", "readable", "damaged"],
)
def test_key_that_is_no_secret_of_ours_is_refused(
    folder: Path, prepare: Callable[[Path], object], told: str
) -> None:
    app.main(["lti", "key"])
    prepare(folder / "lti-key.pem")

    with pytest.raises(UsageError, match=told):
        found_in(folder)


def test_course_without_a_platform_has_no_launches(folder: Path) -> None:
    (folder / "course.toml").write_text('title = "T"\n')

    assert found_in(folder) is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('client_id = "7"', "client_id"),
        ('deployments = ["1"]', "deployments: must list at least one"),
        ('keys_url = "https://lms.example.org/keys"', "keys_url"),
        ('address = "https://labs.example.org"', "address: is needed by lti"),
    ],
)
def test_key_of_the_table_that_is_missing_is_told(folder: Path, line: str, told: str) -> None:
    (folder / "course.toml").write_text(TOML.replace(line, ""))

    with pytest.raises(CourseError, match=told):
        load_course(folder / "course.toml")


@pytest.mark.parametrize(
    "line",
    [
        'token_url = "http://lms.example.org/token"',
        'token_url = "javascript:alert(1)"',
        'instructors = "yes"',
        'secret = "x"',
    ],
)
def test_key_of_the_table_that_says_something_else_is_told(folder: Path, line: str) -> None:
    key = line.partition(" ")[0]
    kept = "\n".join(each for each in TOML.splitlines() if not each.startswith(f"{key} "))
    (folder / "course.toml").write_text(f"{kept}\n{line}\n")

    with pytest.raises(CourseError, match=key):
        load_course(folder / "course.toml")
