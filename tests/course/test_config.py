"""course.toml: what is read, and the line that an instructor sees for each mistake."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.course.config import Course, LateRule, MarkRule, is_branch, load_course
from grader.errors import CourseError

TOML = """
title = "Inference, autumn 2026"
roster = "class/roster.csv"
mark = "last"
engine = "ray"
database = "sqlite:///marks.db?timeout=30"

[collect]
remote = "git@forge.example:course/class.git"
branch = "work/{id}"

[publish]
remote = "../handout.git"
branch = "lab/{NN}"

[deadlines]
1 = 2026-10-01T23:59:00+02:00
02_batching = 2026-10-15T21:59:00Z

[extensions.s17]
2 = 2026-10-22T23:59:00+02:00

[late]
per_day = 0.1
days = 5
"""
LEAST = 'title = "Inference"\n'


def load(folder: Path, text: str) -> Course:
    (folder / "course.toml").write_text(text)
    return load_course(folder / "course.toml")


def test_every_key_arrives(tmp_path: Path) -> None:
    course = load(tmp_path, TOML)

    assert course == Course(
        folder=tmp_path,
        title="Inference, autumn 2026",
        roster=tmp_path / "class" / "roster.csv",
        remote="git@forge.example:course/class.git",
        branch="work/{id}",
        publish_remote=str(tmp_path.parent / "handout.git"),
        publish_branch="lab/{NN}",
        deadlines={
            1: datetime(2026, 10, 1, 21, 59, tzinfo=UTC),
            2: datetime(2026, 10, 15, 21, 59, tzinfo=UTC),
        },
        extensions={("s17", 2): datetime(2026, 10, 22, 21, 59, tzinfo=UTC)},
        late=LateRule(0.1, 5),
        mark=MarkRule.LAST,
        engine="ray",
        database=f"sqlite:///{tmp_path}/marks.db?timeout=30",
    )


def test_what_the_document_shows_is_a_course(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs" / "course.md").read_text(encoding="utf-8")
    first, groups, late = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)[:3]

    course = load(tmp_path, first)
    other = load(tmp_path, first[: first.index("[late]")] + groups + late)

    assert course.total is not None
    assert (course.total.of(3).weight, course.total.cap) == (2.0, 100.0)
    assert (other.late.steps, other.late.slip_days) == ((0.9, 0.7, 0.5), 5)
    assert other.deadline("s18", 1) > other.deadlines[1]


def test_a_title_is_enough(tmp_path: Path) -> None:
    course = load(tmp_path, LEAST)

    assert course.roster == tmp_path / "roster.csv"
    assert (course.remote, course.branch) == ("", "student/{id}")
    assert (course.publish_remote, course.publish_branch) == ("", "main")
    assert (course.late, course.mark, course.engine) == (LateRule(0.0, 0), MarkRule.BEST, "local")
    assert course.database == f"sqlite:///{tmp_path}/course.db"


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert load(tmp_path, f"\ufeff{LEAST}") == load(tmp_path, LEAST)


def test_an_extension_comes_before_the_deadline_of_all(tmp_path: Path) -> None:
    course = load(tmp_path, TOML)

    assert course.deadline("s17", 2) == datetime(2026, 10, 22, 21, 59, tzinfo=UTC)
    assert course.deadline("s18", 2) == datetime(2026, 10, 15, 21, 59, tzinfo=UTC)
    assert course.deadline("s17", 1) == datetime(2026, 10, 1, 21, 59, tzinfo=UTC)
    assert course.deadline("s17", 3) is None


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////srv/course.db",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql+psycopg://marks@db.example/course",
    ],
)
def test_a_database_that_starts_nowhere_near_the_folder_is_left_as_it_is(
    tmp_path: Path, url: str
) -> None:
    assert load(tmp_path, f'{LEAST}database = "{url}"').database == url


@pytest.mark.parametrize(
    "remote", ["https://forge.example/a.git", "ssh://git@h:22/a", "host:a.git", "/srv/a.git"]
)
def test_a_url_is_no_path(tmp_path: Path, remote: str) -> None:
    assert load(tmp_path, f'{LEAST}[collect]\nremote = "{remote}"').remote == remote


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('title = "Inference, autumn 2026"', "", "title: is missing"),
        ('mark = "last"', 'mark = "mean"', "mark: must be best or last, not 'mean'"),
        ('mark = "last"', 'regrade = "best"', "regrade: must be newest or better, not 'best'"),
        ('mark = "last"', 'zone = "Berlin"', "zone: 'Berlin' is no time zone"),
        ('mark = "last"', 'zone = "../etc/passwd"', "zone: '../etc/passwd' is no time zone"),
        ('engine = "ray"', 'engine = "slurm"', "engine: must be local or ray, not 'slurm'"),
        ("work/{id}", "work/all", "collect.branch: must contain {id}"),
        ("work/{id}", "work/{name}", "collect.branch: 'work/{name}' is no name of a branch"),
        ("lab/{NN}", "lab/{NN}..", "publish.branch: 'lab/{NN}..' is no name of a branch"),
        ("branch = ", "brunch = ", "collect.brunch: is no key of this table"),
        ("[late]", "[later]", "later: is no key of this table"),
        ("1 = 2026", "llama = 2026", "deadlines.llama: is no lab"),
        ("02_batching", "01_llama", "deadlines.01_llama: lab 1 has a moment already"),
        ("2026-10-01T23:59:00+02:00", "2026-10-01T23:59:00", "does not say its offset from UTC"),
        ("2026-10-01T23:59:00+02:00", "2026-10-01", "deadlines.1: must be a date with a time"),
        ("2026-10-01T23:59:00+02:00", '"1 October"', "must be a date with a time, not a string"),
        ("2026-10-01T23:59:00+02:00", "2026-13-01T23:59:00Z", "is not valid TOML"),
        ("2026-10-01T23:59:00+02:00", "0001-01-01T00:00:00+02:00", "is out of range"),
        ("2026-10-01T23:59:00+02:00", "1026-10-01T00:00:00Z", "is out of range"),
        ("2026-10-01T23:59:00+02:00", "9999-10-01T00:00:00Z", "is out of range"),
        ("[extensions.s17]\n2", "[extensions.s17]\n4", "extensions.s17.4: lab 4 has no deadline"),
        ("2026-10-22T", "2026-10-02T", "extensions.s17.2: is before the deadline of lab 2"),
        ("[extensions.s17]", "[extensions]", "extensions.2: must be a table"),
        ("per_day = 0.1", "per_day = 10", "late.per_day: must be a share from 0 to 1, not 10"),
        ("per_day = 0.1", "per_day = nan", "late.per_day: must be a share from 0 to 1, not nan"),
        ("days = 5", "days = 1.5", "late.days: must be a whole number of days"),
        ("days = 5", "days = 100_000_000", "late.days: must be at most 1000"),
        ("days = 5", "", "late.days: is missing"),
        ("days = 5", "day = 5", "late.day: is no key of this table"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in TOML

    with pytest.raises(CourseError) as caught:
        load(tmp_path, TOML.replace(old, new, 1))

    assert "course.toml" in caught.value.message
    assert problem in caught.value.message


def test_a_wrong_moment_is_followed_by_the_right_form(tmp_path: Path) -> None:
    for wrong in ("2026-10-01", "2026-13-01T00:00:00Z", '"tomorrow"', "2026-10-01T23:59:00"):
        with pytest.raises(CourseError) as caught:
            load(tmp_path, f"{LEAST}[deadlines]\n1 = {wrong}")
        assert "2026-10-01T23:59:00+02:00" in caught.value.hint


def test_a_missing_file_and_one_that_is_no_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"there is no .*course\.toml") as caught:
        load_course(tmp_path / "course.toml")
    assert "--course" in caught.value.hint

    (tmp_path / "course.toml").write_bytes(b"title = \xff")
    with pytest.raises(CourseError, match="cannot be read"):
        load_course(tmp_path / "course.toml")


@pytest.mark.parametrize("name", ["main", "lab/01", "a.b", "student/17@x.example"])
def test_a_branch_may_be_called(name: str) -> None:
    assert is_branch(name)


@pytest.mark.parametrize(
    "name",
    ["", "a b", "-a", "a..b", "a//b", "/a", "a/", "a.", ".a", "a/.b", "a.lock", "a~1", "a:b", "@"],
)
def test_a_branch_may_not_be_called(name: str) -> None:
    assert not is_branch(name)
