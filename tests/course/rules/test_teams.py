"""``[teams]`` of ``course.toml``: who hands in together, and the line for each mistake."""

import tomllib
from pathlib import Path

import pytest

from grader.course.rules.teams import MAX_BYTES, Teams, teams
from grader.errors import LabError
from grader.labs.toml import Table

PAIR = ("ada", "bob")


def read(folder: Path, text: str) -> Teams:
    return teams(Table("course.toml", "teams", tomllib.loads(text)), folder)


def test_each_member_has_all_of_their_team_by_lab(tmp_path: Path) -> None:
    found = read(tmp_path, '3 = [["ada", "bob"], ["eve"]]\n04_rope = [["bob", "eve"]]')

    assert found == {
        **{("ada", 3): PAIR, ("bob", 3): PAIR, ("eve", 3): ("eve",)},
        **{("bob", 4): ("bob", "eve"), ("eve", 4): ("bob", "eve")},
    }


@pytest.mark.parametrize(
    "text",
    [
        "team,student\nred,ada\nblue,eve\nred,bob\n",
        "\ufeffStudent; Team\r\nada; red\r\n\r\nbob; red\r\neve; blue\r\n",
        "name\tstudent\tteam\nAda\tada\t1\nBob\tbob\t1\nEve\teve\t2\n",
    ],
)
def test_a_file_names_team_and_student_in_any_order(tmp_path: Path, text: str) -> None:
    (tmp_path / "teams.csv").write_text(text, encoding="utf-8")

    found = read(tmp_path, '3 = "teams.csv"')
    assert found == {("ada", 3): PAIR, ("bob", 3): PAIR, ("eve", 3): ("eve",)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3 = 2", "teams.3: must be lists of ids, such as"),
        ('3 = ["ada", "bob"]', "teams.3: must be lists of ids"),
        ('3 = [["ada", 2]]', "teams.3: must be lists of ids"),
        ('3 = [["ada", " "]]', "teams.3: must be lists of ids"),
        ("3 = [[]]", "teams.3: a team has at least one member"),
        ('3 = [["ada", "bob"], ["eve", "ada"]]', "teams.3: 'ada' stands there twice"),
        ('3 = [["ada", "ada"]]', "teams.3: 'ada' stands there twice"),
        ('3 = [["ada"]]\n03_sampling = [["bob"]]', "teams.03_sampling: lab 3 has teams already"),
        ('three = [["ada"]]', "teams.three: is no lab: give its number"),
        ('3 = "none.csv"', "none.csv cannot be read: No such file"),
        ('3 = "."', "cannot be read: Is a directory"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(LabError) as raised:
        read(tmp_path, text)

    assert problem in raised.value.message
    assert raised.value.message.startswith("course.toml: teams.")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "teams.csv needs the columns team and student"),
        (b"team;id\nred;ada\n", "teams.csv needs the columns team and student"),
        (b"team,student\nred,ada\nred\n", "teams.csv, row 3: a team and a student belong there"),
        (b"team,student\nred,ada\nblue,ada\n", "'ada' stands there twice"),
        (b'team,student\nred,"ada\n', "teams.csv, line 2: unexpected end of data"),
        (b"team,student\nred,\xe4da\n", "cannot be read: it is no UTF-8"),
        (b"team,student\n" + b"red,ada\n" * (MAX_BYTES // 8), "is larger than 1 MiB"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "teams.csv").write_bytes(content)

    with pytest.raises(LabError, match=r"course\.toml: teams\.3: ") as raised:
        read(tmp_path, '3 = "teams.csv"')

    assert problem in raised.value.message
