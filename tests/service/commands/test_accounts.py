"""The issuer's secret and the roster's e-mail addresses: where they come from, and each mistake."""

from pathlib import Path

import pytest

from grader.course.config import Course, load_course
from grader.course.grading.collecting.roster import read_emails
from grader.errors import UsageError
from grader.service.commands.accounts import SECRET, identity_of

TOML = """title = "Inference"
[service]
address = "https://labs.example.org"
[service.sign_in]
issuer = "https://login.example.org"
client_id = "inferlab"
"""


def course(folder: Path, more: str = "") -> Course:
    (folder / "course.toml").write_text(TOML + more)
    (folder / "roster.csv").write_text("id,name,email\nada,Ada,Ada@Example.org\nbob,Bob,\n")
    return load_course(folder / "course.toml")


def test_the_secret_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("of the file\n")
    monkeypatch.setenv(SECRET, "of the environment")

    by_environment = identity_of(course(tmp_path))
    by_file = identity_of(course(tmp_path, 'secret_file = "secret"\n'))

    assert by_environment is not None
    assert by_file is not None
    assert by_environment.issuer._secret == "of the environment"
    assert by_file.issuer._secret == "of the file"
    assert by_file.students == {"ada@example.org": "ada"}


@pytest.mark.parametrize(
    ("more", "told"), [("", "has no secret"), ('secret_file = "none"\n', "none cannot be read")]
)
def test_without_a_secret_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, told: str
) -> None:
    monkeypatch.delenv(SECRET, raising=False)

    with pytest.raises(UsageError, match=told):
        identity_of(course(tmp_path, more))


def test_a_course_without_an_issuer_needs_no_addresses(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text('title = "Inference"\n')

    assert identity_of(load_course(tmp_path / "course.toml")) is None


@pytest.mark.parametrize(
    ("roster", "told"),
    [
        ("id,name\nada,Ada\n", "has no column email"),
        ("id,name,email\nada,Ada,a@x.org\nbob,Bob,A@X.org\n", "row 3: a@x.org is that of ada too"),
        ("id,name,email\nada,Ada,ada\n", "row 2: 'ada' is no plain e-mail address"),
        ("id,name,email\nada,Ada,\u017fa@x.org\n", "is no plain e-mail address"),
    ],
)
def test_addresses_that_name_nobody_or_two_are_refused(
    tmp_path: Path, roster: str, told: str
) -> None:
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")

    with pytest.raises(UsageError, match=told):
        read_emails(tmp_path / "roster.csv")
