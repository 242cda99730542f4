"""Who pushed the stub alone has handed in nothing, wherever it lies and whatever its line ends."""

from pathlib import Path

import pytest
from stand_ins.collecting import ADA, BOB, CODE, DUE, HOUR, LAB, collect, course
from stand_ins.notebooks import as_bytes, cells_of, markdown_cell, notebook_of
from stand_ins.remotes import Remote

from grader import ROOT
from grader.course.config import LateRule
from grader.course.grading.collecting.answer import take
from grader.course.grading.collecting.branch import Commit, last_change
from grader.course.grading.collecting.collect import Collected, Outcome
from grader.course.grading.collecting.fetch import Broken
from grader.labs.lab import load_lab
from grader.readers import Budget

STUB = LAB.stub.read_text("utf-8")
PROMPTS = LAB.pseudocode.read_text("utf-8")
ONLY = "only the untouched stub is there"
NOWHERE = "there is no echo.py in 90_echo/, in labs/90_echo/ or at the top"
UNTOUCHED = as_bytes(notebook_of(cells_of(LAB, STUB))).decode()


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")  # where the paths of what is kept start
    return Remote(tmp_path / "class.git")


def collected(remote: Remote, files: dict[str, str]) -> Collected:
    remote.commit("student/ada", files, DUE - HOUR)
    return collect(course(remote), ADA)["ada"]


def problem(remote: Remote, files: dict[str, str]) -> str:
    item = collected(remote, files)
    assert item.outcome is Outcome.MISSING
    assert [frozen.path for frozen in item.records] == [""]
    assert item.frozen.problem == item.remark
    assert not Path("collected").exists()
    return item.remark


@pytest.mark.parametrize("place", ["90_echo/", "labs/90_echo/", ""])
@pytest.mark.parametrize(
    "stub", [STUB, STUB.replace("\n", "\r\n"), STUB.replace("\n", "  \n") + "\n\n"]
)
def test_the_untouched_stub_is_nothing_handed_in(remote: Remote, place: str, stub: str) -> None:
    assert problem(remote, {f"{place}echo.py": stub}) == ONLY


@pytest.mark.parametrize("prompts", [PROMPTS, PROMPTS.replace("\n", "\r\n"), "\n"])
def test_prompts_that_nobody_answered_are_nothing_beside_it(remote: Remote, prompts: str) -> None:
    assert problem(remote, {CODE: STUB, "90_echo/PSEUDOCODE.md": prompts}) == ONLY


@pytest.mark.parametrize("place", ["90_echo/", "labs/90_echo/", ""])
@pytest.mark.parametrize("beside", [{}, {"echo.py": STUB}, {"PSEUDOCODE.md": PROMPTS}])
def test_an_untouched_notebook_is_nothing_either(
    remote: Remote, place: str, beside: dict[str, str]
) -> None:
    named = {"echo.ipynb": UNTOUCHED, **beside}

    assert problem(remote, {place + name: text for name, text in named.items()}) == ONLY


def test_pseudocode_alone_is_handed_in(remote: Remote) -> None:
    words = f"{PROMPTS}\nmultiply, then round\n"

    item = collected(remote, {CODE: STUB, "90_echo/PSEUDOCODE.md": words})

    assert (item.outcome, item.remark) == (Outcome.FROZEN, "")
    place = Path(item.frozen.path)
    assert (place / "PSEUDOCODE.md").read_text() == words
    assert (place / "echo.py").read_text() == STUB


def test_pseudocode_beside_an_untouched_notebook_is_handed_in(remote: Remote) -> None:
    cells = [*cells_of(LAB, STUB), markdown_cell("### Pseudocode: scale\n")]
    files = {
        CODE: STUB,
        "90_echo/echo.ipynb": as_bytes(notebook_of(cells)).decode(),
        "90_echo/PSEUDOCODE.md": f"{PROMPTS}\nmultiply\n",
    }

    item = collected(remote, files)

    assert item.outcome is Outcome.FROZEN
    assert (Path(item.frozen.path) / "PSEUDOCODE.md").read_text().endswith("multiply\n")


def test_one_line_of_code_is_handed_in(remote: Remote) -> None:
    assert collected(remote, {CODE: STUB + "\nx = 1\n"}).outcome is Outcome.FROZEN


def test_work_at_another_place_is_named_beside_the_stub(remote: Remote) -> None:
    files = {
        CODE: STUB,
        "labs/90_echo/echo.py": STUB.replace("\n", "\r\n"),
        "backup/echo.py": STUB,
        "notes/echo.ipynb": UNTOUCHED,
        "week3/Echo.py": "real work",
        "other/echoes.py": "another file",
    }

    assert problem(remote, files) == f"{ONLY}; work of that name lies in week3/Echo.py"


def test_work_at_a_usual_place_that_comes_later_is_named(remote: Remote) -> None:
    files = {CODE: STUB, "labs/90_echo/echo.py": "real work", "echo.py": "other work"}

    told = f"{ONLY}; work of that name lies in echo.py, labs/90_echo/echo.py"
    assert problem(remote, files) == told


def test_of_many_places_some_are_named_and_none_forges_a_line(remote: Remote) -> None:
    hostile = '"a\\nmissing bob\\033[31m\\342\\200\\256/echo.py"'  # as fast-import reads it
    files = {CODE: STUB, hostile: "x", **{f"b{n}/echo.py": f"work {n}" for n in range(30)}}

    told = "work of that name lies in a\\nmissing bob\\x1b[31m\\u202e/echo.py, b0/echo.py"
    assert problem(remote, files) == f"{ONLY}; {told}, b1/echo.py and in 28 more places"


def test_where_only_the_stub_lies_elsewhere_it_is_called_that(remote: Remote) -> None:
    files = {"course/labs/90_echo/echo.py": STUB}

    told = f"{NOWHERE}; {ONLY}, in course/labs/90_echo/echo.py"
    assert problem(remote, files) == told


def test_a_link_of_that_name_is_no_work(remote: Remote) -> None:
    remote.commit("student/ada", {"week3/echo.py": "../90_echo/echo.py"}, DUE - HOUR, mode="120000")
    onto = "refs/heads/student/ada^0"
    remote.commit("student/ada", {CODE: STUB}, DUE - HOUR / 2, onto=onto)

    assert collect(course(remote), ADA)["ada"].remark == ONLY


def test_given_code_of_that_name_is_no_work(remote: Remote) -> None:
    lab = load_lab(ROOT / "labs" / "01_llama")
    given = ("labs/01_llama/llama.py", "labs/llama.py", "labs/plots/llama.py")
    files = {name: (ROOT / name).read_text("utf-8") for name in given}
    commit = remote.commit("ada", files | {"labs/plots/llama.py": "an older one"}, DUE)

    with pytest.raises(Broken) as told:
        take(remote.folder, commit, lab, Budget())

    assert str(told.value) == ONLY


def test_a_notebook_that_cannot_be_read_is_told_beside_the_stub(remote: Remote) -> None:
    told = problem(remote, {CODE: STUB, "90_echo/echo.ipynb": "{"})

    assert told.startswith(f"{ONLY}, and 90_echo/echo.ipynb is no valid JSON (line 1)")


def test_pseudocode_that_is_too_large_is_told_beside_the_stub(remote: Remote) -> None:
    told = problem(remote, {CODE: STUB, "90_echo/PSEUDOCODE.md": "x" * ((1 << 20) + 1)})

    assert told == f"{ONLY}; 90_echo/PSEUDOCODE.md is larger than 1024 KiB: left out"


def test_who_goes_back_to_the_stub_keeps_what_was_collected(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: "work"}, DUE - 3 * HOUR)
    first = collect(course(remote), ADA, now=DUE - 2 * HOUR)
    remote.commit("student/ada", {CODE: STUB}, DUE - HOUR, onto="refs/heads/student/ada^0")

    second = collect(course(remote), ADA, earlier=[first])["ada"]

    assert (second.outcome, second.frozen) == (Outcome.KEPT, first["ada"].frozen)
    assert second.remark.startswith(f"{ONLY}; what was collected on 2026-10-01 20:00 UTC stays")
    assert second.records == ()


def test_work_after_the_deadline_is_said_not_to_count(remote: Remote) -> None:
    remote.commit("student/ada", {CODE: STUB}, DUE - HOUR)
    remote.commit("student/ada", {CODE: "late"}, DUE + HOUR / 2, onto="refs/heads/student/ada^0")
    remote.commit("student/bob", {CODE: STUB}, DUE - HOUR)

    found = collect(course(remote), ADA, BOB)

    late = "what was committed after 2026-10-01 22:00 UTC does not count for it"
    assert found["ada"].remark == f"{ONLY}; {late}"
    assert found["bob"].remark == ONLY


def test_late_work_after_a_stub_in_time_is_late_work(remote: Remote) -> None:
    lenient = course(remote, late=LateRule(per_day=0.1, days=2))
    remote.commit("student/ada", {CODE: STUB}, DUE - HOUR)
    remote.commit("student/ada", {CODE: "late"}, DUE + HOUR, onto="refs/heads/student/ada^0")

    found = collect(lenient, ADA, late=True, now=DUE + 3 * HOUR)["ada"]

    assert found.outcome is Outcome.LATE
    assert [item.committed for item in found.records] == [DUE + HOUR]
    assert ONLY in found.remark


def test_a_notebook_beside_a_stub_with_other_line_ends_dates_the_work(remote: Remote) -> None:
    stub, code = STUB.replace("\n", "\r\n"), STUB.replace("Echo", "Other", 1)
    books = [as_bytes(notebook_of(cells_of(LAB, text))).decode() for text in (STUB, code)]
    onto = "refs/heads/ada^0"
    remote.commit("ada", {"echo.py": stub, "echo.ipynb": books[0]}, DUE - 2 * HOUR)
    second = remote.commit("ada", {"echo.py": stub, "echo.ipynb": books[1]}, DUE - HOUR, onto=onto)
    third = remote.commit("ada", {"notes.md": "x"}, DUE, onto=onto)

    change = last_change(remote.folder, Commit(third, DUE), LAB)

    assert change == Commit(second, DUE - HOUR)
