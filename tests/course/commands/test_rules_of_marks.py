"""A course's rules at work: totals, extensions and waivers by command, and other rules on trial."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.classroom import ADA, BOB, CYD, LAB, NOON, after, attempt

from grader.cli import app
from grader.course.config import load_course
from grader.course.database.store import Store
from grader.course.gradebook.class_page import class_page
from grader.course.gradebook.gradebook import read_gradebook
from grader.course.gradebook.pages import student_page

TOML = """
title = "Inference"
[deadlines]
1 = 2026-10-01T12:00:00Z
2 = 2026-10-15T12:00:00Z
3 = 2126-10-29T12:00:00Z
[late]
per_day = 0.1
days = 3
"""
TOTAL = TOML + "[labs.2]\nweight = 2\n[total]\ncap = 100\n"
SAID = ("--author", "A. Teacher", "--reason", "was ill")
SECOND = "02_batching"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two labs are graded: ada is late in the first, bob did the first alone, cyd nothing."""
    (tmp_path / "course.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB, CYD])
        runs = [store.start_run(lab, NOON) for lab in (LAB, SECOND)]
        store.add_attempt(attempt("ada", 80.0, submitted=after(30), run=runs[0]))
        store.add_attempt(attempt("ada", 90.0, lab=SECOND, run=runs[1]))
        store.add_attempt(attempt("bob", 60.0, run=runs[0]))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["gradebook", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_total_is_shown_wherever_marks_are(run: Run, folder: Path) -> None:
    (folder / "course.toml").write_text(TOTAL)

    shown = run()[1].splitlines()
    told = run("--student", "bob")[1]
    wide = [*csv.reader(io.StringIO(run("--csv", "wide")[1]))]

    assert [line.split()[-2] for line in shown[1:4]] == ["81.33", "20", "0"]
    why = (
        "01 60, 02 (\N{MULTIPLICATION SIGN}2) 0; 02 as nothing, since due and without a mark;"
        " without 03 (graded for nobody yet)"
    )
    assert told.endswith(f"  total: 20 % (60 of 300): {why}\n")
    assert wide[0] == ["student", "name", LAB, SECOND, "total", "possible", "percent", "why"]
    assert wide[1][4:7] == ["244", "300", "81.3333"]
    assert wide[2][2:] == ["60", "", "60", "300", "20", why]
    with Store.open("sqlite:///course.db", folder) as store:
        book = read_gradebook(load_course(folder / "course.toml"), store)
    assert "<p>20 % (60 of 300)</p>".replace("<p>", '<p class="score">') in student_page(book, BOB)
    assert f"<p>{why}</p>" in student_page(book, BOB)
    assert f'data-value="20.0" title="20 % (60 of 300): {why}">20 %</td>' in class_page(book)


def test_without_the_keys_a_total_is_the_sum(run: Run) -> None:
    assert [line.split()[-1] for line in run()[1].splitlines()[1:]] == ["154", "60", "0"]
    assert "total" not in run("--student", "bob")[1]
    assert run("--csv", "wide")[1].splitlines()[0] == f"student,name,{LAB},{SECOND},total"


def test_an_extension_by_command_holds_until_it_is_taken_back(run: Run, folder: Path) -> None:
    until = ("extend", "ada", "1", "2026-10-03T12:00:00+00:00")

    code, out, _ = run(*until, *SAID)
    extended = run("--student", "ada")[1]
    back = run("extend", "ada", "1", "none", "--author", "B. Teacher", "--reason", "a mistake")

    assert code == 0
    assert out.startswith(f"ada, {LAB}: due 2026-10-03 12:00 UTC\n")
    assert f"{LAB}: 80 / 100" in extended
    assert "extended to 2026-10-03 12:00 UTC by A. Teacher on 20" in extended
    assert back[1].startswith(f"ada, {LAB}: due 2026-10-01 12:00 UTC\nada, {LAB}: 64 / 100: ")
    with Store.open("sqlite:///course.db", folder) as store:
        assert [(item.holds, item.reason) for item in store.grants()] == [
            *((True, "was ill"), (False, "a mistake"))
        ]


def test_a_waiver_costs_nothing_until_it_is_taken_back(run: Run) -> None:
    code, out, _ = run("waive", "ada", "1", *SAID)

    assert code == 0
    assert out.startswith(f"ada, {LAB}: due 2026-10-01 12:00 UTC, lateness waived\n")
    assert f"{LAB}: 80 / 100: " in out
    assert "2 days late (due 2026-10-01 12:00 UTC): waived by A. Teacher on " in out
    assert f"{LAB}: 64 / 100: " in run("waive", "ada", "1", "--take-back", *SAID)[1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["extend", "eve", "1", "2026-10-03T12:00:00Z", *SAID], "there is no student 'eve'"),
        (["extend", "ada", "4", "2026-10-03T12:00:00Z", *SAID], "lab 4 has no deadline"),
        (["extend", "ada", "1", "2026-10-03", *SAID], "2026-10-03 does not say its offset"),
        (["extend", "ada", "1", "friday", *SAID], "'friday' is no moment"),
        (["extend", "ada", "1", "2026-10-01T12:00:00Z", *SAID], "ada has time until 2026-10-01 12"),
        (["extend", "ada", "1", "none", *SAID], "ada has no extension in lab 1"),
        (["waive", "ada", "1", "--take-back", *SAID], "ada has no waiver in lab 1"),
        (["waive", "ada", "1", "--author", " ", "--reason", "r"], "--author is empty"),
        (["--nobody-loses"], "nobody loses by what?"),
        (["--policy", "none.toml"], "there is no none.toml"),
        (["--policy", "course.toml", "--canvas"], "--canvas and --policy at once"),
        (["--policy", "course.toml", "-o", "x"], "--policy shows what would change on the screen"),
    ],
)
def test_a_mistake_is_a_line_and_a_hint(run: Run, arguments: list[str], line: str) -> None:
    code, out, err = run(*arguments)

    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert line in err.splitlines()[0]


def test_other_rules_are_shown_and_change_nothing(run: Run, folder: Path) -> None:
    (folder / "kind.toml").write_text(TOML + "slip_days = 1\n")

    code, out, err = run("--policy", "kind.toml", "--nobody-loses")

    lines = out.splitlines()
    assert (code, err) == (0, "nobody would lose by it\n")
    assert lines[:2] == ["ada  Ada L.", f"  {LAB}: 64 / 100 -> 72 / 100"]
    assert lines[2].startswith("    now: ")
    assert lines[2].endswith("20 % of its 80 points are lost")
    assert lines[3].endswith("1 slip day spent, 0 of 1 left: 10 % of its 80 points are lost")
    assert lines[4] == "  total: 154 -> 162"
    assert lines[-1] == (
        "by kind.toml 1 student would have other marks or totals; nothing was recorded"
    )
    assert [line.split()[-1] for line in run()[1].splitlines()[1:]] == ["154", "60", "0"]


def test_who_would_lose_is_named(run: Run, folder: Path) -> None:
    (folder / "harsh.toml").write_text(TOML.replace("0.1", "0.2"))
    (folder / "light.toml").write_text(TOML + "[labs.2]\nweight = 0.5\n")

    harsh, light = (
        run("--policy", name, "--nobody-loses") for name in ("harsh.toml", "light.toml")
    )

    assert (harsh[0], harsh[2]) == (1, "1 student would lose: ada\n")
    assert run("--policy", "harsh.toml")[0] == 0
    assert (light[0], light[2]) == (1, "1 student would lose: ada\n")
    assert "  total: 77 % -> 72.67 %" in light[1]
    assert "  total: 30 % -> 40 %" in light[1]
    same = run("--policy", "course.toml", "--nobody-loses")
    assert (same[0], same[1]) == (0, "by course.toml no mark changes; nothing was recorded\n")
