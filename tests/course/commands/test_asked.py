"""``lab gradebook requests``, ``ask`` and ``answer``: requests without the service's pages."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")

from stand_ins.classroom import ADA, BOB, LAB, NOON, after, attempt, report

from grader.cli import app
from grader.course.database.decisions import start_regrade
from grader.course.database.records import Decision, Kind
from grader.course.database.store import Store

WHY = "=HYPERLINK(1) the handout says <b>otherwise</b>"
SAID = ("--author", "G. Hopper", "--text", "It does indeed.")
ASK = ("ask", "ada", "1", "--task", "norm", "--author", "G. Hopper", "--reason", WHY)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "course.toml").write_text('title = "Inference"\n')
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB])
        data = report({"norm/a": "failed", "rope/a": "passed"})
        run = store.start_run(LAB, NOON)
        store.add_attempt(attempt("ada", 50.0, run=run, report=data))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["gradebook", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_request_is_written_down_and_listed_with_the_command_that_grades_again(run: Run) -> None:
    assert run(*ASK)[:2] == (0, f"request 1 of ada about norm in {LAB}\n")

    out = run("requests")[1]

    assert f"1: ada, {LAB}, c0ffee: norm: open" in out
    assert WHY in out
    assert 'lab grade-all 1 --student ada --seed 7 --on-trial "request 1" --author NAME' in out


def test_a_correction_shows_old_and_new(run: Run) -> None:
    run(*ASK)

    code, out, _ = run("answer", "1", *SAID, "--points", "80")

    assert code == 0
    assert "  mark: 50 -> 80\n" in out
    assert "UTC: request 1: It does indeed." in run("--student", "ada")[1]
    assert run("requests")[1] == "nobody waits for an answer\n"
    assert "  mark: 50 -> 80\n" in run("requests", "--all")[1]


def test_a_regrade_shows_old_and_new_of_task_and_attempt(run: Run, folder: Path) -> None:
    run(*ASK)
    with Store.open("sqlite:///course.db", folder) as store:
        asked = Decision("", Kind.ASKED, "G. Hopper", "request 1", after(1))
        trial = start_regrade(store, LAB, asked, ["ada"])
        data = report({"norm/a": "passed", "rope/a": "passed"})
        store.add_attempt(attempt("ada", 100.0, run=trial, report=data))

    out = run("answer", "1", *SAID, "--run", trial)[1]

    assert "  norm: 0 -> 50\n  the attempt: 50 -> 100\n" in out
    assert "to be decided" in out
    run("publish", trial, "--author", "G. Hopper", "--reason", "right")
    assert "to be decided" not in run("requests", "--all")[1]


def test_a_spreadsheet_computes_nothing_of_it(run: Run, folder: Path) -> None:
    run(*ASK)

    assert run("requests", "--csv", "-o", "asked.csv")[0] == 0

    [row] = csv.DictReader(io.StringIO((folder / "asked.csv").read_text()))
    assert row["reason"] == f"'{WHY}"
    assert (row["number"], row["state"], row["answer"]) == ("1", "open", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*ASK[:4], "nrom", *ASK[5:]), "there is no task 'nrom'"),
        ((*ASK, "--test", "test_rope/a"), "norm has no test"),
        ((*ASK[:-1], "short"), "10 to 2000 characters"),
        (("ask", "bob", *ASK[2:]), "nothing of bob"),
        (("answer", "1", *SAID), "there is no request 1"),
        (("requests", "-o", "x.csv"), "only --csv goes to a file"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: tuple[str, ...], told: str) -> None:
    code, _, err = run(*arguments)

    assert code == 2
    assert told in err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--points", "101"), "are no points"),
        (("--points", "80", "--run", "2"), "at once"),
        (("--run", "1"), "is no regrade"),
    ],
)
def test_an_answer_that_cannot_be_is_refused_and_nothing_is_recorded(
    run: Run, more: tuple[str, ...], told: str
) -> None:
    run(*ASK)

    code, _, err = run("answer", "1", *SAID, *more)

    assert code == 2
    assert told in err
    assert ": open" in run("requests")[1]


def test_a_request_is_answered_once(run: Run) -> None:
    run(*ASK)
    run("answer", "1", *SAID)

    code, _, err = run("answer", "1", *SAID, "--points", "90")

    assert code == 2
    assert "answered already" in err
    assert "50 / 100" in run("--student", "ada")[1]
