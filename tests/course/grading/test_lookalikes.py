"""Branches of nobody on the roster: which they are, and whose name they nearly have."""

from datetime import datetime
from pathlib import Path

import pytest
from stand_ins.collecting import CODE, DUE, HOUR, LAB, collect, course
from stand_ins.remotes import Remote

from grader.course.database.records import Student
from grader.course.git import git
from grader.course.grading.collecting.collect import Collection, Outcome, collect_class
from grader.course.grading.collecting.lookalikes import Stray, instead, plain, strays

ADA7 = Student("ada7", "Ada", "", "student/ada7")
S17 = Student("s17", "Eve", "", "student/s17")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")  # where the paths of what is kept start
    return Remote(tmp_path / "class.git")


def pushed(remote: Remote, *branches: str, date: datetime = DUE - HOUR) -> None:
    """Put one commit on many branches, whatever their names."""
    commit = remote.commit("first", {CODE: "work"}, date)
    lines = "".join(f"update refs/heads/{branch} {commit}\n" for branch in branches)
    git("update-ref", "--stdin", folder=remote.folder, stdin=lines.encode())
    git("update-ref", "-d", "refs/heads/first", folder=remote.folder)


def seen(remote: Remote, *students: Student, **changes: object) -> tuple[Stray, ...]:
    """Collect, and return what is nobody's."""
    order = Collection(course(remote, **changes), LAB, DUE + HOUR)
    return collect_class(order, students, [], 2, lambda item: None)


def test_branches_of_nobody_on_the_roster_are_listed(remote: Remote) -> None:
    own = Student("own", "Own", "../own.git", "main")
    named = Student("bob", "Bob", "", "by-roster/bob")
    pushed(remote, "student/ada7", "student/zed", "by-roster/bob", "main", "other/x", "student/q/r")

    assert seen(remote, ADA7, own, named) == (Stray("student/q/r", ()), Stray("student/zed", ()))


@pytest.mark.parametrize(
    "branch",
    [
        *("student/Ada7", "student/ADA7", "Student/ada7", "student/ada07", "student/ada0007"),
        *("student/-ada7", "student/ada7_", "student/<ada7>", 'student/"Ada007"'),
    ],
)
def test_case_zeros_and_punctuation_are_seen_through(remote: Remote, branch: str) -> None:
    pushed(remote, "student/ada7", "student/s17", branch)

    assert seen(remote, ADA7, S17) == (Stray(branch, ("ada7",)),)


@pytest.mark.parametrize(
    "branch", ["student/ada70", "student/ada", "student/a7da", "student/s170", "student/7"]
)
def test_another_name_is_another_name(remote: Remote, branch: str) -> None:
    pushed(remote, "student/ada7", "student/s17", branch)

    assert seen(remote, ADA7, S17) == (Stray(branch, ()),)


def test_a_branch_is_named_beside_each_whom_it_looks_like(remote: Remote) -> None:
    other = Student("ada07", "Ada Two", "", "student/ada07")
    pushed(remote, "student/ada7", "student/ada07", "student/Ada007")

    found = collect(course(remote), ADA7, other)

    assert found["ada7"].remark == "branch student/Ada007 looks like ada7's"
    assert found["ada07"].remark == "branch student/Ada007 looks like ada07's"


def test_what_looks_like_the_missing_branch_is_for_the_staff_alone(remote: Remote) -> None:
    pushed(remote, "student/Ada007", "student/ADA7", "work/ada7")

    ada = collect(course(remote), ADA7)["ada7"]

    assert ada.outcome is Outcome.MISSING
    told = "there is no branch student/ada7; there is work/ada7"
    assert ada.frozen.problem == told
    assert ada.remark == (f"{told}; branches student/ADA7, student/Ada007 look like ada7's")


def test_newer_work_on_a_branch_that_looks_like_ones_own_is_told(remote: Remote) -> None:
    stub = LAB.stub.read_text()
    remote.commit("student/ada7", {CODE: stub}, DUE - 2 * HOUR)
    remote.commit("student/Ada007", {CODE: "work"}, DUE - HOUR)

    ada = collect(course(remote), ADA7)["ada7"]

    assert ada.outcome is Outcome.MISSING
    assert ada.frozen.problem == "only the untouched stub is there"
    assert ada.remark.split("; ")[1:] == [
        "newer work on echo.py lies on student/Ada007",
        "branch student/Ada007 looks like ada7's",
    ]


def test_of_many_that_look_alike_some_are_named(remote: Remote) -> None:
    pushed(remote, *(f"student/ada{'0' * zeros}7" for zeros in range(8)))

    told = collect(course(remote), ADA7)["ada7"].remark

    assert told.startswith("branches student/ada00000007, student/ada0000007, ")
    assert told.endswith(" and 2 more look like ada7's")


@pytest.mark.parametrize(
    ("pattern", "branch", "strange"),
    [
        ("{id}", "zed", True),
        ("{id}", "main", False),  # where the course is published
        ("{id}", "lab/01", True),
        ("{id}/work", "zed/work", True),
        ("{id}/work", "zed/other", False),
        ("{id}/lab-{id}", "zed/lab-zed", True),
        ("{id}/lab-{id}", "zed/lab-ada", False),
        ("a.b+{id}", "a.b+zed", True),
        ("a.b+{id}", "aXbbzed", False),
    ],
)
def test_the_courses_pattern_says_what_may_be_somebodys(
    remote: Remote, pattern: str, branch: str, strange: bool
) -> None:
    found = strays(course(remote, branch=pattern), [], {branch})

    assert [stray.branch for stray in found] == [branch] * strange


def test_branches_of_published_labs_are_the_courses(remote: Remote) -> None:
    of = course(remote, branch="{id}", publish_branch="lab/{NN}")

    assert strays(of, [], {"lab/01", "lab/17", "lab/x"}) == (Stray("lab/x", ()),)


def test_a_remote_that_nobody_asked_has_no_strangers(remote: Remote) -> None:
    remote.commit("main", {CODE: "work"}, DUE - HOUR)
    remote.commit("student/zed", {CODE: "work"}, DUE - HOUR)

    assert seen(remote, Student("own", "Own", "../class.git", "main")) == ()


@pytest.mark.parametrize(
    ("wanted", "there", "told"),
    [
        ("main", ["Main", "dev"], "; Main looks like it"),
        ("student/ada7", ["a", "ada7", "Student/ADA007"], "; Student/ADA007, ada7 look like it"),
        ("work", ["main", "work/ada"], "; there is main, work/ada"),
        ("work", [f"b{n}" for n in range(9)], "; there is b0, b1, b2, b3, b4 and 4 more"),
        ("work", ["x\u202e"], "; there is x\\u202e"),
        ("work", [], ""),
        ("work/-", ["-", "x/-"], "; there is -, x/-"),
    ],
)
def test_of_a_repository_of_ones_own_what_looks_right_is_named(
    wanted: str, there: list[str], told: str
) -> None:
    assert instead(wanted, there) == told


def test_the_wanted_branch_of_ones_own_repository_is_found_by_its_likeness(
    remote: Remote,
) -> None:
    pushed(remote, "main", "Student/ADA007")
    own = Student("ada7", "Ada", str(remote.folder), "student/ada7")

    told = collect(course(remote), own)["ada7"].remark

    assert told == "there is no branch student/ada7; Student/ADA007 looks like it"


@pytest.mark.parametrize(
    ("name", "same"),
    [("S017", "s17"), ("--a_b.", "a_b"), ("0", "0"), ("000", "0"), ("x00", "x0"), ("_-", "")],
)
def test_a_plain_name_has_no_case_zeros_or_punctuation_around(name: str, same: str) -> None:
    assert plain(name) == same
