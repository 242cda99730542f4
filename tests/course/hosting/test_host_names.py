"""Names and tokens: what a host would refuse is told before anything is asked of it."""

from pathlib import Path

import pytest

from grader.course.hosting.kinds import address_of
from grader.course.hosting.names import account_problem, members_of, problems, repository_problem
from grader.course.hosting.token import VARIABLE, read_token
from grader.course.rosters.people import read_people
from grader.course.rules.hosts import Kind
from grader.errors import UsageError

PATTERNS = ("labs-{id}", "student/{id}")


def told(folder: Path, kind: Kind, text: str, name: str = "labs-{id}") -> list[str]:
    file = folder / "roster.csv"
    file.write_text(text)
    return problems(kind, "labs", members_of(kind, read_people(file), (name, "student/{id}")))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, name) for kind in Kind for name in ("a b", "a@b", "a+b", "", "x" * 101, "a.git")),
        *((Kind.GITLAB, name) for name in ("-a", "a-", "a--b", "a.atom", "tree")),
        *((Kind.GITEA, name) for name in (".", "..", "a.wiki", "a.rss")),
    ],
)
def test_a_name_that_a_host_refuses_is_told(kind: Kind, name: str) -> None:
    assert repository_problem(kind, name)
    assert repository_problem(kind, "labs-s17.a_b") == ""


@pytest.mark.parametrize("kind", Kind)
def test_an_account_is_a_name(kind: Kind) -> None:
    assert account_problem(kind, "Ada-Lovelace") == ""
    for name in ("a/b", "ada@example.org", "a b", "-a"):
        assert account_problem(kind, name)
    assert (account_problem(kind, "a--b") != "") == (kind is Kind.GITHUB)


def test_each_problem_of_a_roster_has_its_student(tmp_path: Path) -> None:
    rows = "id,name,github\nada@x,A,ada\nbob,B,b b\ncarl,C,Ada\n"

    found = told(tmp_path, Kind.GITHUB, rows)

    assert [line.partition(":")[0] for line in found] == ["ada@x", "bob", "carl"]
    assert "carl: the account Ada is that of ada@x" in found
    # Names by account: two whose accounts differ in case alone have one repository.
    found = told(tmp_path, Kind.GITEA, "id,name,account\na,A,One\nb,B,one\n", "{account}")
    assert "b: the repository 'one' is that of a" in found
    assert told(tmp_path, Kind.GITEA, "id,name,account\na,A,labs\n", "{account}") == [
        "a: the repository 'labs' is that of the template"
    ]


def test_a_roster_without_accounts_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no column gitlab, and none account"):
        told(tmp_path, Kind.GITLAB, "id,name\na,A\n")
    with pytest.raises(UsageError, match="gives students no names"):
        told(tmp_path, Kind.GITLAB, "id,name,account\na,A,a\n", "labs")


def test_a_token_that_others_may_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("abc\n")
    file.chmod(0o640)
    with pytest.raises(UsageError, match="others may read the token") as caught:
        read_token(file)
    assert caught.value.hint.startswith("chmod 600")
    file.chmod(0o600)
    assert read_token(file).secret == "abc"
    assert "abc" not in repr(read_token(file))
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match="there is no token"):
        read_token(None)
    monkeypatch.setenv(VARIABLE, "x y")
    with pytest.raises(UsageError, match="holds blanks") as caught:
        read_token(None)
    assert "x y" not in caught.value.line


def test_a_token_goes_to_an_address_by_https_alone() -> None:
    assert address_of(Kind.GITHUB, "") == "https://github.com"
    assert address_of(Kind.GITEA, "http://127.0.0.1:3000/") == "http://127.0.0.1:3000"
    for url in ("http://git.example.org", "git.example.org", "https://u:p@git.example.org"):
        with pytest.raises(UsageError, match="--url must be as"):
            address_of(Kind.GITLAB, url)
    with pytest.raises(UsageError, match="where is your Forgejo"):
        address_of(Kind.FORGEJO, "")
