"""``lab gradebook``: what it shows, exports for other programs, compares and lets a person set."""

import csv
import html
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.classroom import (
    ADA,
    BOB,
    CYD,
    HOSTILE_MESSAGE,
    HOSTILE_NAME,
    LAB,
    NOON,
    after,
    attempt,
    frozen,
    override,
    report,
)

from grader.cli import app
from grader.course.analysis.changes import compare_runs
from grader.course.database.decisions import start_regrade
from grader.course.database.records import Decision, Kind, Remark, Student
from grader.course.database.store import Store
from grader.course.gradebook.exports import safe_cell
from grader.course.gradebook.folders import plain_name
from grader.course.rosters.forms import Kind as RosterKind
from grader.course.rosters.people import read_people

BEFORE = {"norm/a": "passed", "norm/b": "failed", "rope/a": "passed"}
AFTER = {"norm/a": "passed", "norm/b": "passed", "rope/a": "timeout", "rope/c": "failed"}
TOML = """
title = "Inference"
[deadlines]
1 = 2026-10-01T14:00:00+02:00
[late]
per_day = 0.1
days = 3
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with three students: ada is graded, bob was late, cyd's branch is missing."""
    (tmp_path / "course.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB, CYD])
        store.start_run(LAB, NOON)
        store.add_frozen(frozen("cyd", "", "branch student/cyd is missing"))
        store.add_attempt(attempt("ada", 75.0, report=report(BEFORE, HOSTILE_MESSAGE)))
        store.add_attempt(attempt("bob", 60.0, submitted=after(3), report=report(BEFORE)))
    return tmp_path


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open("sqlite:///course.db", folder) as opened:
        yield opened


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["gradebook", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def rows(text: str) -> list[list[str]]:
    return [*csv.reader(io.StringIO(text))]


def test_the_gradebook_is_shown_as_a_table(run: Run) -> None:
    code, out, err = run()

    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["student", "01", "total"]
    assert lines[1].split() == ["ada", "Ada", "L.", "75", "75"]
    assert lines[2].split()[-2:] == ["54", "54"]
    assert "\u202e" not in out
    assert lines[3].split() == ["cyd", "Cyd", "-", "0"]


def test_a_students_marks_say_where_they_come_from(run: Run) -> None:
    code, out, _ = run("--student", "bob")

    assert code == 0
    assert "01_llama: 54 / 100: the commit, c0ffee of 2026-10-01 15:00 UTC, in run 1; 1 day" in out
    assert run("--student", "cyd")[1].endswith(
        "  01_llama: -: nothing was graded: branch student/cyd is missing\n"
    )


def test_the_long_csv_has_a_row_per_student_and_lab(run: Run) -> None:
    _, out, _ = run("--csv", "long")

    head, *found = rows(out)
    as_dicts = [dict(zip(head, row, strict=True)) for row in found]
    assert [row["student"] for row in as_dicts] == ["ada", "bob", "cyd"]
    assert [row["points"] for row in as_dicts] == ["75", "54", ""]
    assert [row["late_days"] for row in as_dicts] == ["0", "1", "0"]
    assert as_dicts[0]["submitted"] == "2026-10-01 11:00:00+00:00"
    assert as_dicts[2]["why"] == "nothing was graded: branch student/cyd is missing"


def test_the_wide_csv_has_a_column_per_lab(run: Run, store: Store, folder: Path) -> None:
    second = store.start_run("02_batching", NOON)
    store.add_attempt(attempt("ada", 12.345678, lab="02_batching", run=second))

    code, out, _ = run("--csv", "wide", "-o", str(folder / "marks.csv"))

    assert (code, out) == (0, "")
    assert rows((folder / "marks.csv").read_text(encoding="utf-8")) == [
        ["student", "name", "01_llama", "02_batching", "total"],
        ["ada", "Ada L.", "75", "12.3457", "87.3457"],
        ["bob", HOSTILE_NAME.replace("\u202e", "\\u202e"), "54", "", "54"],
        ["cyd", "Cyd", "", "", "0"],
    ]
    assert rows(run("--csv", "wide", "--lab", "2")[1])[0][2:] == ["02_batching", "total"]


def test_canvas_gets_the_columns_that_it_imports(run: Run) -> None:
    _, out, _ = run("--canvas")

    head, possible, *found = rows(out)
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "01_llama"]
    assert possible == ["    Points Possible", "", "", "", "", "100"]
    assert found[0] == ["Ada L.", "", "ada", "ada", "", "75"]
    assert found[2][-1] == ""


def test_canvas_is_told_what_a_lab_gives_with_its_questions(run: Run, store: Store) -> None:
    store.add_attempt(attempt("cyd", 108.0, possible=110.0))

    _, possible, *found = rows(run("--canvas")[1])

    assert [possible[-1], *(row[-1] for row in found)] == ["110", "75", "54", "108"]


ROSTER = """\
id,name,email,number,login,canvas,section
ada,Ada L.,ada@uni.example,7001,ada@uni,101,CS-101
bob,Bob,bob@uni.example,7002,bob@uni,,
"""


def test_canvas_finds_students_by_its_own_ids_where_the_roster_has_them(
    run: Run, folder: Path
) -> None:
    (folder / "roster.csv").write_text(ROSTER)

    _, out, _ = run("--canvas")

    found = rows(out)[2:]
    assert found[0] == ["Ada L.", "101", "7001", "ada@uni", "CS-101", "75"]
    assert found[1][1:] == ["", "7002", "bob@uni", "", "54"]
    assert found[2] == ["Cyd", "", "cyd", "cyd", "", ""]


def test_what_canvas_imports_is_a_roster_again(run: Run, folder: Path) -> None:
    (folder / "roster.csv").write_text(ROSTER)
    run("--canvas", "-o", "canvas.csv")

    found = read_people(folder / "canvas.csv")

    assert found.kind is RosterKind.CANVAS
    assert [person.login for person in found.persons] == ["ada@uni", "bob@uni", "cyd"]


def test_moodle_finds_students_by_number_username_or_email(run: Run, folder: Path) -> None:
    (folder / "roster.csv").write_text(ROSTER)

    code, out, _ = run("--moodle")

    head, *found = rows(out)
    assert code == 0
    assert head == ["ID number", "Username", "Email address", "Full name", "01_llama"]
    assert found[0] == ["7001", "ada@uni", "ada@uni.example", "Ada L.", "75"]
    assert [row[0] for row in found] == ["7001", "7002"]  # cyd has no mark that could be set


def test_moodle_gets_ids_of_ours_where_the_roster_tells_no_others(run: Run) -> None:
    head, *found = rows(run("--moodle")[1])

    assert head[:2] == ["ID number", "Username"]
    assert [row[:2] for row in found] == [["ada", "ada"], ["bob", "bob"]]


def test_gradescope_gets_a_results_file_per_student(run: Run, folder: Path) -> None:
    code, _, err = run("--gradescope", "-o", "scope")

    data = json.loads((folder / "scope" / LAB / "bob.json").read_text())
    assert (code, err) == (0, "2 results in scope\n")
    assert sorted(path.name for path in (folder / "scope" / LAB).iterdir()) == [
        "ada.json",
        "bob.json",
    ]
    assert data["score"] == 54.0
    assert data["output"].startswith("the commit, c0ffee")
    assert [test["max_score"] for test in data["tests"]] == [50.0, 50.0]


def test_a_mark_that_was_taken_back_leaves_no_file_for_gradescope(run: Run, folder: Path) -> None:
    said = ("--author", "A", "--reason", "R")
    file = folder / "scope" / LAB / "cyd.json"

    run("override", "cyd", "1", "80", *said)
    run("--gradescope", "-o", "scope")
    assert json.loads(file.read_text())["score"] == 80.0

    run("override", "cyd", "1", "none", *said)
    run("--gradescope", "-o", "scope")
    assert not file.exists()


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\uff1d1", "\t=1", "\r=cmd|' /C calc'!A0"]
)
def test_a_spreadsheet_never_takes_a_name_for_a_formula(text: str) -> None:
    cell = safe_cell(text)

    assert not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\t", "\r"))
    assert cell.lstrip("'").strip().endswith(text.strip()[-1])


@pytest.mark.parametrize("name", ["Ada L.", "Ünïcødé 李", "O'Neil", "a=b", "1-2"])
def test_a_plain_name_is_exported_as_it_is(name: str) -> None:
    assert safe_cell(name) == name


def test_a_hostile_name_reaches_every_export_as_text(run: Run, store: Store) -> None:
    store.put_students([Student("bob", "=HYPERLINK(1)\n,\ud800", "", "b")])

    for form in (("--csv", "long"), ("--csv", "wide"), ("--canvas",)):
        _, out, _ = run(*form)
        assert any("'=HYPERLINK(1)\\n,�" in row for row in rows(out))


def test_two_runs_are_compared_before_marks_are_told(run: Run, store: Store) -> None:
    second = store.start_run(LAB, after(60))
    store.add_attempt(attempt("ada", 50.0, run=second, report=report(AFTER)))
    store.add_attempt(attempt("bob", 60.0, run=second, report=report(BEFORE)))
    store.add_attempt(attempt("cyd", 0.0, run=second, exit_code=3))

    code, out, _ = run("--diff", "1", second)

    assert code == 1
    assert out.splitlines() == [
        "ada  Ada L., c0ffee: 75 -> 50",
        "    test_norm/b: failed -> passed",
        "    test_rope/a: passed -> timeout",
        "    test_rope/c: absent -> failed",
        "1 student differs: 0 earn more in run 2, 1 less",
    ]
    assert run("--diff", "1", "1")[:2] == (0, "runs 1 and 1 agree\n")


def test_a_student_of_one_run_alone_is_a_difference(store: Store) -> None:
    second = store.start_run(LAB, after(60))
    store.add_attempt(attempt("ada", 75.0, run=second, report=report(BEFORE)))

    found = compare_runs(store, "1", second)

    assert [(c.student, c.before, c.after, c.kind) for c in found.changes] == [
        ("bob", 60.0, None, "only")
    ]
    assert found.left_out == []


def test_who_was_not_to_be_graded_in_a_run_is_no_difference(run: Run, store: Store) -> None:
    second = store.start_run(LAB, after(60), students=["ada"])
    store.add_attempt(attempt("ada", 75.0, run=second, report=report(BEFORE)))
    told = "1 student was in one of the runs only, since the other was started with --student"

    for runs in (("1", second), (second, "1")):
        code, out, _ = run("--diff", *runs)
        assert (code, out.splitlines()) == (0, [told, f"runs {runs[0]} and {runs[1]} agree"])


def test_two_attempts_of_a_student_are_compared_one_by_one(store: Store) -> None:
    second = store.start_run(LAB, after(60))
    for run, points in (("1", 10.0), (second, 20.0)):
        store.add_attempt(attempt("ada", points, run=run, commit="1a7e", report=report(BEFORE)))
    store.add_attempt(attempt("ada", 75.0, run=second, report=report(BEFORE)))
    store.add_attempt(attempt("bob", 60.0, run=second, report=report(BEFORE)))

    changes = compare_runs(store, "1", second).changes

    assert [(c.commit, c.before, c.after) for c in changes] == [("1a7e", 10.0, 20.0)]


def test_a_mark_set_by_hand_stays_through_a_regrade(run: Run, store: Store) -> None:
    words = ("--author", "A. Teacher", "--reason", "the branch was lost by us")
    code, out, _ = run("override", "cyd", "1", "66.5", *words)
    second = store.start_run(LAB, after(60))
    store.add_attempt(attempt("cyd", 10.0, run=second))

    assert code == 0
    assert out.startswith("cyd, 01_llama: 66.5 / 100: set to 66.5 by A. Teacher on ")
    assert rows(run("--csv", "wide")[1])[3] == ["cyd", "Cyd", "66.5", "66.5"]
    long = dict(zip(*[rows(run("--csv", "long")[1])[i] for i in (0, 3)], strict=True))
    assert (long["override_author"], long["override_reason"]) == (words[1], words[3])
    run("override", "cyd", "1", "none", "--author", "A. Teacher", "--reason", "found it")
    assert rows(run("--csv", "wide")[1])[3] == ["cyd", "Cyd", "10", "10"]
    assert len(store.overrides()) == 2


def test_the_course_may_be_named_before_or_behind_override(run: Run, folder: Path) -> None:
    (folder / "course.toml").rename(folder / "other.toml")
    words = ("override", "ada", "1", "5", "--author", "A", "--reason", "r")

    assert run("--course", "other.toml", *words)[0] == 0
    assert run(*words, "--course", "other.toml")[0] == 0
    assert run(*words)[0] == 2


REMARK = f"branch {HOSTILE_MESSAGE} \u202e looks like ada's"


def test_remarks_of_collecting_are_for_the_staff_alone(
    run: Run, store: Store, folder: Path
) -> None:
    told = "branch student/cyd is missing; branch student/CYD looks like cyd's"
    store.add_frozen(remark=Remark("ada", LAB, REMARK, after(2)))
    store.add_frozen(remark=Remark("cyd", LAB, told, after(2)))

    ada, cyd = (run("--student", name)[1].splitlines() for name in ("ada", "cyd"))
    out = run()[1]
    long = list(csv.DictReader(io.StringIO(run("--csv", "long")[1])))
    assert run("--html", "pages")[0] == 0
    assert run("--gradescope", "-o", "scores")[0] == 0

    shown = f"branch {HOSTILE_MESSAGE} \\u202e looks like ada's"
    assert ada[2] == f"    look at: {shown}"
    assert cyd[2:] == ["    look at: branch student/CYD looks like cyd's"]
    assert not any("look at" in line for line in run("--student", "bob")[1].splitlines())
    assert "look at what was collected of ada, cyd: lab gradebook --student ada says why" in out
    assert [*long[0]][-1] == "look_at"
    assert [row["look_at"] for row in long] == [shown, "", "branch student/CYD looks like cyd's"]
    index = (folder / "pages" / "index.html").read_text()
    assert "Look at what was collected: 2 remarks" in index
    assert html.escape(shown) in index
    given = [*(folder / "pages" / "students").rglob("*.html"), *(folder / "scores").rglob("*.json")]
    assert len(given) == 7
    assert not any("looks like" in file.read_text() for file in given)


def test_a_remark_that_the_mark_says_already_is_not_said_twice(run: Run, store: Store) -> None:
    store.add_frozen(remark=Remark("cyd", LAB, "branch student/cyd is missing", after(2)))

    assert "look at" not in run("--student", "cyd")[1] + run()[1]
    assert "look_at\n" in run("--csv", "long")[1].replace("\r", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--csv", "tall"], "there is no --csv tall"),
        (["--csv", "long", "--canvas"], "--csv long and --canvas at once"),
        (["-o", "x.csv"], "what is to be written to x.csv?"),
        (["--gradescope"], "--gradescope writes a file per student"),
        (["--csv", "long", "-o", "no/such/x.csv"], "cannot write no/such/x.csv"),
        (["--lab", "77"], "there is no lab '77'"),
        (["--student", "eve"], "there is no student 'eve' on the roster"),
        (["--diff", "1", "9"], "there is no run '9'"),
        (["--html", "course.toml"], "cannot make the folder course.toml"),
        (["--course", "none.toml"], "there is no none.toml"),
        (["override", "eve", "1", "5", "--author", "A", "--reason", "r"], "no student 'eve'"),
        (["override", "ada", "1", "180", "--author", "A", "--reason", "r"], "'180' are no points"),
        (["override", "ada", "1", "nan", "--author", "A", "--reason", "r"], "'nan' are no points"),
        (["override", "ada", "1", "5", "--author", " ", "--reason", "r"], "--author is empty"),
        (["override", "ada", "1", "5", "--author", "A"], "Missing option '--reason'"),
    ],
)
def test_a_mistake_is_a_line_and_a_hint(run: Run, arguments: list[str], line: str) -> None:
    code, out, err = run(*arguments)

    first, *hint = err.splitlines()
    assert (code, out) == (2, "")
    assert first.startswith("error: ")
    assert line in first
    assert len(hint) <= 1


def test_two_runs_of_different_labs_do_not_compare(run: Run, store: Store) -> None:
    store.start_run("02_batching", NOON)

    code, _, err = run("--diff", "1", "2")

    assert (code, err.splitlines()[0]) == (2, "error: run 1 is of 01_llama, run 2 of 02_batching")


def test_an_empty_gradebook_says_what_comes_first(run: Run, folder: Path) -> None:
    for file in folder.glob("course.db*"):
        file.unlink()

    code, _, err = run()

    assert (code, err.splitlines()[0]) == (2, "error: the gradebook is empty")


def test_a_broken_database_is_a_line(run: Run, folder: Path) -> None:
    for file in folder.glob("course.db*"):
        file.unlink()
    (folder / "course.db").write_text("no database " * 100)

    code, _, err = run()

    assert code == 3
    assert "is damaged, or no database" in err.splitlines()[0]
    assert len(err.splitlines()) == 2


def test_an_override_in_the_store_is_seen_by_the_table(run: Run, store: Store) -> None:
    store.add_override(override("bob", 99.0))

    assert run()[1].splitlines()[2].split()[-1] == "99"


@pytest.mark.parametrize("text", ["../x", "a/b", "A", "..", ".x", "ü" * 300, "con\0"])
def test_an_odd_id_is_a_plain_file_name_of_its_own(text: str) -> None:
    name = plain_name(text)

    assert name.isascii()
    assert not name.startswith(".")
    assert not {"/", "\0"} & {*name}
    assert len(name) < 120
    assert name != plain_name(text.lower() + "2")
    assert plain_name("ada.l-1@x") == "ada.l-1@x"


def test_a_regrade_on_trial_shows_what_would_change_and_counts_once_it_is_published(
    folder: Path, store: Store, run: Run
) -> None:
    asked = Decision("", Kind.ASKED, "A. Teacher", "mended", NOON)
    name = start_regrade(store, LAB, asked, ["ada"])
    better = attempt("ada", 90.0, run=name, graded=after(-9000), report=report(AFTER))
    store.add_attempt(better)

    code, out, err = run("--trial", name, "--nobody-loses")

    assert (code, err) == (0, "nobody would lose by it\n")
    assert f"  {LAB}: 75 / 100 -> 90 / 100\n" in out
    assert f"by run {name} 1 student would have other marks or totals; nothing was recorded" in out
    assert {a.points for a in store.attempts(LAB, "ada")} == {75.0}
    said = ("--author", "A. Teacher", "--reason", "fair")
    assert run("publish", name, *said)[:2] == (
        0,
        f"run {name} was published: its gradings count\n",
    )
    assert {a.points for a in store.attempts(LAB, "ada")} == {75.0, 90.0}
    code, _, err = run("--trial", name)
    assert (code, err.splitlines()[0].partition(" by ")[0]) == (
        2,
        f"error: run {name} was published",
    )
    code, _, err = run("discard", "77", *said)
    assert (code, err.splitlines()[0]) == (2, "error: there is no run '77' on trial")


def test_a_regrade_by_which_somebody_loses_is_told(folder: Path, store: Store, run: Run) -> None:
    name = start_regrade(store, LAB, Decision("", Kind.ASKED, "A", "mended", NOON))
    store.add_attempt(attempt("ada", 20.0, run=name, report=report(AFTER)))

    code, _, err = run("--trial", name, "--nobody-loses")

    assert (code, err) == (1, "1 student would lose: ada\n")
    assert run("--trial", name)[0] == 0
