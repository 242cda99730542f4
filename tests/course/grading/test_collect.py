"""Freezing what a class had handed in: dates, extensions, and repositories that are hostile."""

import os
import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from stand_ins.collecting import ADA, BOB, CODE, DUE, HOUR, LAB, collect, course
from stand_ins.remotes import Remote

from grader.course.config import LateRule
from grader.course.database.records import Frozen, Student
from grader.course.git import git
from grader.course.grading.collecting.collect import Collected, Outcome
from grader.course.grading.collecting.fetch import Bounds, _is_name
from grader.errors import UsageError
from grader.labs.documents.regular import MAX_BYTES

NOWHERE = "there is no echo.py in 90_echo/, in labs/90_echo/ or at the top"


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")  # where the paths of what is kept start
    return Remote(tmp_path / "class.git")


def frozen(item: Collected) -> Frozen:
    return item.frozen


def files(item: Collected) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(frozen(item).path).iterdir()}


# -- which commit ----------------------------------------------------------------------------


def test_newest_commit_up_to_the_deadline_is_frozen(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    wanted = remote.commit("student/ada", {CODE: "two"}, DUE, onto="refs/heads/student/ada^0")
    remote.commit("student/ada", {CODE: "late"}, DUE + HOUR / 60, onto="refs/heads/student/ada^0")

    ada = collect(course(remote), ADA)["ada"]

    assert ada.outcome is Outcome.FROZEN
    assert ada.remark == ""
    assert frozen(ada).commit == wanted
    assert frozen(ada).committed == DUE
    assert files(ada) == {"echo.py": b"two"}


def test_work_of_a_merged_branch_is_not_taken_for_the_branchs_own(remote: Remote) -> None:
    """The branch pointed to its own commits, not to those that a late merge brought in."""
    own = remote.commit("student/ada", {CODE: "own"}, DUE - 3 * HOUR)
    remote.commit("side", {CODE: "side"}, DUE - HOUR, onto=own)
    merged = {CODE: "merged"}
    head = "refs/heads/student/ada^0\nmerge refs/heads/side^0"
    remote.commit("student/ada", merged, DUE + HOUR / 2, onto=head)

    assert frozen(collect(course(remote), ADA)["ada"]).commit == own


def test_before_the_deadline_the_tip_counts_until_it_is_collected_again(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 3 * HOUR)
    first = collect(course(remote), ADA, now=DUE - 2 * HOUR)
    remote.commit("student/ada", {CODE: "two"}, DUE - HOUR, onto="refs/heads/student/ada^0")

    second = collect(course(remote), ADA, earlier=[first])

    assert first["ada"].outcome is Outcome.SEEN
    assert second["ada"].outcome is Outcome.FROZEN
    assert files(second["ada"]) == {"echo.py": b"two"}
    assert files(first["ada"]) == {"echo.py": b"one"}


def test_what_is_frozen_stays_unless_it_is_refreshed(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 2 * HOUR)
    first = collect(course(remote), ADA)
    # As a student may do it: after the deadline, with a date before it.
    remote.commit("student/ada", {CODE: "two"}, DUE - HOUR, onto="refs/heads/student/ada^0")

    again = collect(course(remote), ADA, earlier=[first], now=DUE + 2 * HOUR)
    fresh = collect(course(remote), ADA, earlier=[first], now=DUE + 2 * HOUR, refresh=True)

    assert again["ada"].outcome is Outcome.KEPT
    assert again["ada"].frozen == first["ada"].frozen
    assert "after the deadline, it was not there" in fresh["ada"].remark
    assert files(fresh["ada"]) == {"echo.py": b"two"}
    assert files(first["ada"]) == {"echo.py": b"one"}


def test_files_that_are_gone_come_back_with_a_refresh(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    first = collect(course(remote), ADA)
    shutil.rmtree(frozen(first["ada"]).path)

    again = collect(course(remote), ADA, earlier=[first], refresh=True)

    assert again["ada"].frozen == first["ada"].frozen
    assert files(again["ada"]) == {"echo.py": b"one"}


def test_extension_moves_one_students_deadline(remote: Remote) -> None:
    extended = course(remote, extensions={("bob", 90): DUE + 24 * HOUR})
    for student in ("ada", "bob"):
        branch = f"student/{student}"
        remote.commit(branch, {CODE: "one"}, DUE - HOUR)
        remote.commit(branch, {CODE: "two"}, DUE + HOUR / 2, onto=f"refs/heads/{branch}^0")

    found = collect(extended, ADA, BOB)

    assert (files(found["ada"]), found["ada"].outcome) == ({"echo.py": b"one"}, Outcome.FROZEN)
    assert (files(found["bob"]), found["bob"].outcome) == ({"echo.py": b"two"}, Outcome.SEEN)


def test_late_collection_goes_up_to_the_last_late_day(remote: Remote) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=2))
    remote.commit("student/ada", {CODE: "in time"}, DUE - HOUR)
    for hours, text in ((30, "late"), (60, "too late")):
        date = DUE + hours * HOUR
        remote.commit("student/ada", {CODE: text}, date, onto="refs/heads/student/ada^0")
    first = collect(lenient, ADA)

    during = collect(lenient, ADA, earlier=[first], late=True, now=DUE + 36 * HOUR)
    after = collect(lenient, ADA, earlier=[first, during], late=True, now=DUE + 72 * HOUR)
    again = collect(lenient, ADA, earlier=[first, during, after], late=True, now=DUE + 73 * HOUR)

    assert files(first["ada"]) == {"echo.py": b"in time"}
    assert during["ada"].outcome is Outcome.LATE  # there is time left, and the tip counts
    assert (files(after["ada"]), after["ada"].outcome) == ({"echo.py": b"late"}, Outcome.LATE)
    assert again["ada"].outcome is Outcome.KEPT
    assert (
        collect(lenient, ADA, earlier=[first, during, after], now=DUE + 74 * HOUR)["ada"].outcome
        is Outcome.KEPT
    )


def test_late_collection_finds_nothing_new_of_who_was_in_time(remote: Remote) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=2))
    remote.commit("student/ada", {CODE: "in time"}, DUE - HOUR)
    first = collect(lenient, ADA, now=DUE + 72 * HOUR)

    late = collect(lenient, ADA, earlier=[first], late=True, now=DUE + 73 * HOUR)

    assert late["ada"].outcome is Outcome.KEPT
    assert (frozen(late["ada"]).commit, late["ada"].remark) == (frozen(first["ada"]).commit, "")


@pytest.mark.parametrize("order", [("in time", "late"), ("late",)])
@pytest.mark.parametrize("name", ["notes.md", "91_other/other.py", "90_echo/notes.md"])
def test_late_commit_beside_the_labs_files_is_no_late_work(
    remote: Remote, order: tuple[str, ...], name: str
) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=2))
    wanted = remote.commit("student/ada", {CODE: "right"}, DUE - HOUR)
    remote.commit("student/ada", {name: "x"}, DUE + HOUR / 2, onto="refs/heads/student/ada^0")
    found: list[dict[str, Collected]] = []
    for step, kind in enumerate(order, 1):
        now = DUE + step * HOUR
        found.append(collect(lenient, ADA, earlier=found, late=kind == "late", now=now))

    kept = [frozen for item in found for frozen in item["ada"].records]
    assert {(item.commit, item.committed) for item in kept} == {(wanted, DUE - HOUR)}
    assert not any(item["ada"].remark for item in found)


def test_late_work_is_dated_by_the_commit_that_changed_it(remote: Remote) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=3))
    remote.commit("student/ada", {CODE: "in time"}, DUE - HOUR)
    late = remote.commit("student/ada", {CODE: "late"}, DUE + HOUR, onto="refs/heads/student/ada^0")
    remote.commit(
        "student/ada", {"notes.md": "x"}, DUE + 30 * HOUR, onto="refs/heads/student/ada^0"
    )

    found = collect(lenient, ADA, late=True, now=DUE + 31 * HOUR)

    assert found["ada"].outcome is Outcome.LATE
    assert [item.committed for item in found["ada"].records] == [DUE - HOUR, DUE + HOUR]
    assert frozen(found["ada"]).commit == late
    assert files(found["ada"]) == {"echo.py": b"late"}


def test_work_that_was_moved_to_another_place_is_the_same_work(remote: Remote) -> None:
    wanted = remote.commit("student/ada", {"echo.py": "one"}, DUE - 2 * HOUR)
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR, onto="refs/heads/student/ada^0")

    ada = collect(course(remote), ADA)["ada"]

    assert (frozen(ada).commit, frozen(ada).committed) == (wanted, DUE - 2 * HOUR)


def test_rewritten_branch_with_the_same_files_is_no_late_work(remote: Remote) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=2))
    remote.commit("student/ada", {CODE: "right"}, DUE - HOUR)
    first = collect(lenient, ADA)
    remote.commit("student/ada", {CODE: "right", "notes.md": "x"}, DUE + HOUR)  # amended

    late = collect(lenient, ADA, earlier=[first], late=True, now=DUE + 2 * HOUR)

    assert late["ada"].outcome is Outcome.KEPT
    assert frozen(late["ada"]).committed == DUE - HOUR
    assert "the branch was rewritten" in late["ada"].remark


def test_extension_after_the_freeze_is_taken_at_once(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    remote.commit("student/ada", {CODE: "two"}, DUE + HOUR, onto="refs/heads/student/ada^0")
    first = collect(course(remote), ADA, now=DUE + 5 * HOUR)
    extended = course(remote, extensions={("ada", 90): DUE + 2 * HOUR})

    second = collect(extended, ADA, earlier=[first], now=DUE + 6 * HOUR)
    third = collect(extended, ADA, earlier=[first, second], now=DUE + 7 * HOUR)
    back = collect(course(remote), ADA, earlier=[first, second], now=DUE + 7 * HOUR)

    assert files(first["ada"]) == {"echo.py": b"one"}
    assert (files(second["ada"]), second["ada"].outcome) == ({"echo.py": b"two"}, Outcome.FROZEN)
    assert second["ada"].remark == "taken anew: the deadline is 2026-10-02 00:00 UTC now"
    assert (third["ada"].outcome, back["ada"].outcome) == (Outcome.KEPT, Outcome.KEPT)


def test_lab_without_a_deadline_is_frozen_as_it_is(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE + HOUR)

    found = collect(course(remote, deadlines={}), ADA, now=DUE + 2 * HOUR)

    assert found["ada"].outcome is Outcome.FROZEN


# -- history that changes ----------------------------------------------------------------------


def test_rewritten_branch_is_told_and_the_old_files_stay(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 3 * HOUR)
    first = collect(course(remote), ADA, now=DUE - 2 * HOUR)
    remote.commit("student/ada", {CODE: "forced"}, DUE - HOUR)

    second = collect(course(remote), ADA, earlier=[first])

    assert "the branch was rewritten" in second["ada"].remark
    assert frozen(first["ada"]).commit[:12] in second["ada"].remark
    assert files(second["ada"]) == {"echo.py": b"forced"}
    assert files(first["ada"]) == {"echo.py": b"one"}


def test_rewritten_branch_is_told_beside_other_remarks_and_after_a_refresh(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 3 * HOUR)
    first = collect(course(remote), ADA)
    remote.commit("student/ada", {CODE: "other"}, DUE - HOUR)
    remote.commit("student/ada", {CODE: "two"}, DUE - 2 * HOUR, onto="refs/heads/student/ada^0")

    second = collect(course(remote), ADA, earlier=[first], refresh=True)
    third = collect(course(remote), ADA, earlier=[first, second], refresh=True)

    for item in (second["ada"], third["ada"]):
        assert "its date lies before that of its parent" in item.remark
        assert f"rewritten: {frozen(first['ada']).commit[:12]}, collected before" in item.remark


def test_newer_work_on_another_branch_is_told(remote: Remote) -> None:
    stub = LAB.stub.read_text()
    remote.commit("student/ada", {CODE: "one"}, DUE - 3 * HOUR)
    remote.commit("ada-fixes", {CODE: "two"}, DUE - HOUR)
    remote.commit("student/bob", {CODE: "three"}, DUE - HOUR)
    remote.commit("main", {CODE: stub}, DUE - HOUR)
    own = Student("cyd", "Cyd", str(remote.folder), "student/ada")

    found = collect(course(remote), ADA, own)

    assert found["ada"].remark == "newer work on echo.py lies on ada-fixes"
    assert found["cyd"].remark == "newer work on echo.py lies on ada-fixes, student/bob"
    assert files(found["ada"]) == {"echo.py": b"one"}


def test_vanished_branch_leaves_what_was_collected(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 3 * HOUR)
    first = collect(course(remote), ADA, now=DUE - 2 * HOUR)
    remote.commit("student/other", {CODE: "one"}, DUE - 3 * HOUR)
    (remote.folder / "refs" / "heads" / "student" / "ada").unlink()

    second = collect(course(remote), ADA, earlier=[first])

    assert second["ada"].outcome is Outcome.KEPT
    assert second["ada"].frozen == first["ada"].frozen
    assert second["ada"].remark.startswith("there is no branch student/ada; what was collected on")


@pytest.mark.parametrize(
    ("dates", "told"),
    [
        ((DUE - HOUR, DUE - 2 * HOUR), "its date lies before that of its parent"),
        ((DUE - HOUR, DUE + 99 * HOUR), "its date lies in the future"),
    ],
)
def test_date_that_no_honest_clock_writes_is_told(
    remote: Remote, dates: tuple[datetime, datetime], told: str
) -> None:
    remote.commit("student/ada", {CODE: "one"}, dates[0])
    remote.commit("student/ada", {CODE: "two"}, dates[1], onto="refs/heads/student/ada^0")
    found = collect(course(remote, deadlines={}), ADA)

    assert told in found["ada"].remark
    assert files(found["ada"]) == {"echo.py": b"two"}


# -- what is missing or broken -------------------------------------------------------------------


def problem(item: Collected) -> str:
    assert item.outcome is Outcome.MISSING
    assert frozen(item).path == ""
    assert frozen(item).problem == item.remark
    return item.remark


@pytest.mark.parametrize("date", ["", "yesterday +0000", "99999999999999999999999 +0000"])
def test_commit_whose_date_is_none_stops_nobody(remote: Remote, date: str) -> None:
    remote.commit("student/bob", {CODE: "one"}, DUE - HOUR)
    tree = git("rev-parse", "student/bob^{tree}", folder=remote.folder)
    text = f"tree {tree}\nauthor S <s@x> {date}\ncommitter S <s@x> {date}\n\nwork\n".encode()
    line = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    commit = git(*line, folder=remote.folder, stdin=text)
    git("update-ref", "refs/heads/student/ada", commit, folder=remote.folder)

    found = collect(course(remote), ADA, BOB)

    assert found["ada"].outcome is Outcome.MISSING
    assert found["bob"].outcome is Outcome.FROZEN


def test_missing_ones_are_listed_and_stop_nobody(remote: Remote, tmp_path: Path) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    remote.commit("student/late", {CODE: "one"}, DUE + HOUR / 2)
    (tmp_path / "broken.git").mkdir()
    broken = Student("cat", "Cat", str(tmp_path / "broken.git"), "main")
    nowhere = Student("dan", "Dan", str(tmp_path / "none.git"), "main")
    late = Student("eve", "Eve", "", "student/late")

    found = collect(course(remote), ADA, BOB, broken, nowhere, late)

    assert found["ada"].outcome is Outcome.FROZEN
    assert problem(found["bob"]) == "there is no branch student/bob"
    assert "does not appear to be a git repository" in problem(found["cat"])
    assert "does not appear to be a git repository" in problem(found["dan"])
    assert problem(found["eve"]) == "student/late has no commit dated up to 2026-10-01 22:00 UTC"


def test_repository_of_a_students_own_may_be_a_path_beside_the_course(remote: Remote) -> None:
    remote.commit("main", {CODE: "one"}, DUE - HOUR)
    own = Student("ada", "Ada", "../class.git", "main")

    assert files(collect(course(remote, remote=""), own)["ada"]) == {"echo.py": b"one"}


def test_missing_branch_of_a_students_own_is_told(remote: Remote) -> None:
    remote.commit("main", {CODE: "one"}, DUE - HOUR)
    remote.commit("work/ada", {CODE: "one"}, DUE - HOUR)
    own = Student("ada", "Ada", str(remote.folder), "work")
    misnamed = collect(course(remote), ADA)["ada"]
    assert problem(misnamed) == "there is no branch student/ada; there is work/ada"

    assert (
        problem(collect(course(remote), own)["ada"])
        == "there is no branch work; there is main, work/ada"
    )


def test_a_remote_with_too_many_branches_to_list_is_asked_for_each(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    monkeypatch.setattr("grader.course.grading.collecting.fetch.LISTING_BYTES", 10)

    found = collect(course(remote), ADA, BOB)

    assert files(found["ada"]) == {"echo.py": b"one"}
    assert problem(found["bob"]) == "there is no branch student/bob"


def test_of_more_branches_than_are_known_the_rosters_are_among_them(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    for branch in ("a", "b", "student/ada"):
        remote.commit(branch, {CODE: "one"}, DUE - HOUR)
    monkeypatch.setattr("grader.course.grading.collecting.fetch.MOST_BRANCHES", 1)

    assert files(collect(course(remote), ADA)["ada"]) == {"echo.py": b"one"}


def test_a_history_that_takes_too_long_is_told(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    monkeypatch.setattr("grader.course.grading.collecting.branch.SECONDS", 0)

    told = problem(collect(course(remote), ADA)["ada"])
    assert told == "its last change was not found within 0 s of reading its history"


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("MOST_OBJECTS", "its history has more than 2 objects"),
        ("ALL_COMMITS", "the commits of its history have more than 0 MiB"),
        (
            "LARGEST_TREE",
            r"a folder of its history has 0 MiB \(tree [0-9a-f]{12}\): more than 0 MiB",
        ),
    ],
)
def test_more_objects_than_may_be_read_are_told(
    remote: Remote, monkeypatch: pytest.MonkeyPatch, limit: str, told: str
) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - HOUR)
    monkeypatch.setattr(f"grader.course.grading.collecting.objects.{limit}", 2)

    found = problem(collect(course(remote), ADA)["ada"])
    assert re.fullmatch(f"its last commit alone is too much: {told}", found)


@pytest.mark.parametrize(
    "name", ["a:b", "a b", "a..b", "-a", "a/", "a.lock", "a/.b", "@{u}", "a\\b", "x" * 256, ""]
)
def test_a_name_that_is_no_branchs_is_not_taken_from_a_server(name: str) -> None:
    assert not _is_name(name)
    assert _is_name(f"student/ada-{len(name)}.x")


def test_remote_of_all_that_is_not_there_is_one_line(remote: Remote, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.git cannot be read: .*not appear to be a git"):
        collect(course(remote, remote=str(tmp_path / "none.git")), ADA)


# -- what a tree may hold ------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["90_echo/", "labs/90_echo/", ""])
def test_only_the_labs_files_are_taken_from_where_they_may_lie(remote: Remote, place: str) -> None:
    tree = {
        f"{place}echo.py": b"\xff code",
        f"{place}PSEUDOCODE.md": "text",
        f"{place}virus.py": "x",
        f"{place}conftest.py": "x",
        ".gitattributes": "*.py filter=lfs\n",
        ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ../class.git\n',
    }
    remote.commit("student/ada", tree, DUE - HOUR)

    found = collect(course(remote), ADA)

    assert files(found["ada"]) == {"echo.py": b"\xff code", "PSEUDOCODE.md": b"text"}


@pytest.mark.parametrize(
    ("name", "content", "mode", "told"),
    [
        (CODE, "/etc/passwd", "120000", "90_echo/echo.py is not a regular file"),
        ("90_echo", "/etc", "120000", "90_echo is not a folder"),
        ("90_echo", "text", "100644", "90_echo is not a folder"),
        ("90_echo/other.py", "x", "100644", NOWHERE),
        ("README.md", "x", "100644", NOWHERE),
        ("homework/lab1/Echo.py", "x", "100644", f"{NOWHERE}; it lies in homework/lab1/Echo.py"),
        (CODE, b"x" * (MAX_BYTES + 1), "100644", "90_echo/echo.py is larger than 1024 KiB"),
        ("90_echo/echo.py/x", "x", "100644", "90_echo/echo.py is not a regular file"),
    ],
)
def test_tree_without_the_labs_code_is_told(
    remote: Remote, name: str, content: str | bytes, mode: str, told: str
) -> None:
    remote.commit("student/ada", {name: content}, DUE - HOUR, mode=mode)

    assert problem(collect(course(remote), ADA)["ada"]) == told


def test_code_of_just_the_largest_size_is_taken(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: b"x" * MAX_BYTES}, DUE - HOUR)

    assert len(files(collect(course(remote), ADA)["ada"])["echo.py"]) == MAX_BYTES


def test_pseudocode_that_is_too_large_is_left_out(remote: Remote) -> None:
    big = "x" * (MAX_BYTES + 1)
    remote.commit("student/ada", {CODE: "one", "90_echo/PSEUDOCODE.md": big}, DUE - HOUR)

    ada = collect(course(remote), ADA)["ada"]

    assert ada.outcome is Outcome.FROZEN
    assert ada.remark == "90_echo/PSEUDOCODE.md is larger than 1024 KiB: left out"
    assert files(ada) == {"echo.py": b"one"}


# -- large repositories --------------------------------------------------------------------------


def test_large_files_are_not_fetched_at_all(remote: Remote) -> None:
    tree = {CODE: "one", "model.bin": os.urandom(4 << 20)}
    remote.commit("student/ada", tree, DUE - HOUR)

    found = collect(course(remote), ADA, bounds=Bounds(megabytes=1))

    assert files(found["ada"]) == {"echo.py": b"one"}


def test_large_history_of_a_host_without_filters_is_left_aside(remote: Remote) -> None:
    (remote.folder / "config").write_text("[core]\n\tbare = true\n")
    remote.commit("student/ada", {"model.bin": os.urandom(4 << 20)}, DUE - 2 * HOUR)
    tree = {CODE: "one", "model.bin": "gone"}
    remote.commit("student/ada", tree, DUE - HOUR, onto="refs/heads/student/ada^0")

    found = collect(course(remote), ADA, bounds=Bounds(megabytes=1))

    assert files(found["ada"]) == {"echo.py": b"one"}


def test_shallow_repository_is_taken_without_a_chain_of_fetches(
    remote: Remote, tmp_path: Path
) -> None:
    remote.commit("student/ada", {CODE: "one"}, DUE - 2 * HOUR)
    remote.commit("student/ada", {CODE: "two"}, DUE - HOUR, onto="refs/heads/student/ada^0")
    own, url = tmp_path / "own.git", remote.folder.as_uri()
    git("clone", "-q", "--bare", "--depth=1", "-b", "student/ada", url, str(own), folder=tmp_path)

    found = collect(course(remote), Student("ada", "Ada", str(own), "student/ada"))

    assert files(found["ada"]) == {"echo.py": b"two"}


def test_pointer_of_lfs_is_told(remote: Remote) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    remote.commit("student/ada", {CODE: pointer}, DUE - HOUR)

    assert collect(course(remote), ADA)["ada"].remark == "echo.py is a pointer of Git LFS"


def test_repository_above_the_limit_is_listed(remote: Remote) -> None:
    (remote.folder / "config").write_text("[core]\n\tbare = true\n")
    tree = {CODE: "one", "model.bin": os.urandom(4 << 20)}
    remote.commit("student/ada", tree, DUE - HOUR)

    found = collect(course(remote), ADA, bounds=Bounds(megabytes=1))

    assert problem(found["ada"]) == "its last commit alone is too much: more than 1 MiB"


def test_repository_that_does_not_answer_is_given_up(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Student("ada", "Ada", "ssh://nobody@host/repository", "main")
    monkeypatch.setattr("grader.course.git._SET", {"GIT_SSH_COMMAND": "sleep 60 #"})

    found = collect(course(remote), own, bounds=Bounds(seconds=0.5))

    assert problem(found["ada"]) == "git fetch took longer than 0.5 s"


def test_protocol_that_names_a_program_is_refused(remote: Remote, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    own = Student("ada", "Ada", f"ext::touch {proof}", "main")

    assert "not allowed" in problem(collect(course(remote), own)["ada"])
    assert not proof.exists()
