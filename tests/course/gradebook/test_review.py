"""A measurement that is not plausible waits for a person, wherever a class is looked at."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.classroom import ADA, BOB, LAB, NOON, after, attempt, course, override, report
from stand_ins.sample_reports import speed_entry

from grader.cli import app
from grader.course.database.store import Store
from grader.course.gradebook.class_page import class_page
from grader.course.gradebook.gradebook import Gradebook, read_gradebook
from grader.course.gradebook.review import reviews

SEEN = "81 us a call, where this GPU takes 190 us"
LINE = f"ada, {LAB}, c0ffee: forward, 8192 x 8192: {SEEN}"
DECIDES = "lab gradebook override ada 1 POINTS --author NAME --reason TEXT"
Keep = Callable[..., None]


def raced(suspicious: str = SEEN) -> dict[str, Any]:
    speed = [speed_entry("8192 x 8192", suspicious=suspicious), speed_entry("big")]
    return report({"norm/a": "failed"}) | {"extras": {"speed": speed}}


def book(folder: Path, *rows: Any) -> Gradebook:
    with Store.open("sqlite:///course.db", folder) as store:
        store.put_students([ADA, BOB])
        store.start_run(LAB, NOON)
        for row in rows:
            keep = store.add_attempt if hasattr(row, "commit") else store.add_override
            keep(row)
        return read_gradebook(course(folder), store)


def test_what_is_not_plausible_waits_for_a_person(tmp_path: Path) -> None:
    found = reviews(
        book(tmp_path, attempt("ada", report=raced()), attempt("bob", report=raced("")))
    )

    assert [(item.line, item.decided_by) for item in found] == [(LINE, DECIDES)]


def test_an_attempt_that_does_not_count_is_looked_at_too(tmp_path: Path) -> None:
    better = attempt("ada", 90.0, commit="b0bb1e", report=report({}))

    assert len(reviews(book(tmp_path, attempt("ada", report=raced()), better))) == 1


def test_a_grading_that_failed_by_our_fault_is_nothing_to_look_at(tmp_path: Path) -> None:
    assert reviews(book(tmp_path, attempt("ada", exit_code=3, report=raced()))) == []


@pytest.mark.parametrize("points", [50.0, 90.0])
def test_an_override_decides_and_holds_through_a_regrade(tmp_path: Path, points: float) -> None:
    again = attempt("ada", graded=after(60), report=raced())

    assert reviews(book(tmp_path, attempt("ada", report=raced()), override("ada", points))) == []
    assert reviews(book(tmp_path, again)) == []


def test_an_override_that_is_taken_back_decides_nothing(tmp_path: Path) -> None:
    word = override("ada", None)

    assert len(reviews(book(tmp_path, attempt("ada", report=raced()), word))) == 1


def test_an_override_knows_what_was_recorded_before_it_whatever_clocks_say(tmp_path: Path) -> None:
    ahead = attempt("ada", commit="1", graded=after(9000), report=raced())
    behind = attempt("ada", commit="2", graded=after(-9000), report=raced())

    assert reviews(book(tmp_path, ahead, override("ada", 50.0))) == []
    assert [item.commit for item in reviews(book(tmp_path, behind))] == ["2"]


def test_where_nobody_kept_the_order_clocks_tell_it() -> None:
    word, graded = override("ada", 50.0), attempt("ada", graded=after(30))

    assert word.is_of(graded)  # said at 40
    assert not replace(word, made=after(20)).is_of(graded)
    assert not replace(word, after=7).is_of(replace(graded, row=8))
    assert replace(word, after=8).is_of(replace(graded, row=8))


def test_the_terminal_the_table_and_the_page_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = book(tmp_path, attempt("ada", report=raced()))
    (tmp_path / "course.toml").write_text('title = "T"\n')
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    for options in ([], ["--student", "ada"], ["--student", "bob"], ["--csv", "long"]):
        assert app.main(["gradebook", *options]) == 0
        told.append(capsys.readouterr().out)

    assert [f"to review: {LINE}\n" in text for text in told[:3]] == [True, True, False]
    assert [DECIDES in text for text in told[:3]] == [True, True, False]
    rows = {row["student"]: row["review"] for row in csv.DictReader(io.StringIO(told[3]))}
    assert rows == {"ada": LINE, "bob": ""}
    page = class_page(found)
    assert '<h2 id="Review">To review</h2>' in page
    assert SEEN in page
    assert "50?</a>" in page


def test_what_a_report_says_is_escaped(tmp_path: Path) -> None:
    hostile = attempt("ada", report=raced("<script>\x1b[2J"))
    found = book(tmp_path, hostile)

    assert "<script>" not in class_page(found).partition("To review")[2].partition("</table>")[0]
    assert "\x1b" not in reviews(found)[0].line
