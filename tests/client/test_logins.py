"""Logins: where tokens are kept, who can read them, and which addresses are refused."""

import json
import stat
from pathlib import Path

import pytest

from grader.client import logins
from grader.client.logins import Login, service_url
from grader.errors import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "inferlab"


def test_nobody_else_can_read_a_token(folder: Path) -> None:
    file = logins.keep(Login("https://labs.example.org", "secret"))

    assert file.parent == folder
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "secret" not in repr(logins.current())


def test_the_last_login_is_in_use_and_others_stay() -> None:
    for name in ("one", "two", "one"):
        logins.keep(Login(f"https://{name}.example.org", f"of {name}"))

    assert logins.current() == Login("https://one.example.org", "of one")
    assert logins.forget("https://one.example.org")
    assert logins.current() == Login("https://two.example.org", "of two")
    assert not logins.forget("https://one.example.org")


def test_nobody_is_logged_in_without_a_file() -> None:
    assert logins.current() is None


@pytest.mark.parametrize("text", ["{", "[]", "\ud83d"])
def test_a_damaged_file_is_a_line(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "logins.json").write_bytes(text.encode("utf-8", "surrogatepass"))

    with pytest.raises(UsageError, match=r"logins\.json"):
        logins.current()


def test_a_folder_that_cannot_be_made_is_a_line(folder: Path) -> None:
    folder.parent.parent.mkdir(exist_ok=True)
    folder.parent.write_text("a file")

    with pytest.raises(UsageError, match="the login cannot be kept"):
        logins.keep(Login("https://labs.example.org", "secret"))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://labs.example.org", "https://labs.example.org"),
        (" https://labs.example.org/ ", "https://labs.example.org"),
        ("https://example.org/labs/", "https://example.org/labs"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://localhost:8000/", "http://localhost:8000"),
    ],
)
def test_an_address_has_one_form(text: str, url: str) -> None:
    assert service_url(text) == url


@pytest.mark.parametrize(
    "text",
    ["labs.example.org", "ftp://example.org", "https://", "http://labs.example.org", "",
     "https://me@example.org", "https://example.org/?a", "https://example.org/#a", "http:///x"],
)  # fmt: skip
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        service_url(text)


def test_the_file_is_json_that_other_programs_can_read() -> None:
    file = logins.keep(Login("https://labs.example.org", "secret"))

    assert json.loads(file.read_text()) == {"https://labs.example.org": "secret"}
