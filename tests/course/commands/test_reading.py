"""People read by command: what they say is a row, and the student reads it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.classroom import ADA, BOB, LAB, NOON, attempt, frozen

from grader.cli import app
from grader.course.commands.reading import reading
from grader.course.database.store import Store
from grader.labs.lab import find_lab, find_root
from grader.labs.task import Criterion

TOML = """
title = "Inference"
[canned]
shapes = "State the shape after each step."
"""
BY = ("--author", "A. Teacher")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ada's code of two lines was collected and graded; bob has nothing."""
    (tmp_path / "course.toml").write_text(TOML)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "llama.py").write_text("import torch\nx = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB])
        run = store.start_run(LAB, NOON)
        store.add_frozen(frozen("ada", "kept"))
        store.add_attempt(attempt("ada", 80.0, run=run))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["gradebook", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_a_comment_is_said_and_listed(run: Run) -> None:
    assert run("comment", "ada", "1", "Why?", *BY, "--line", "2") == (
        0,
        f"comment 1 on ada, {LAB}, c0ffee, llama.py, line 2\n",
        "",
    )
    run("comment", "ada", "1", *BY, "--canned", "shapes", "--task", "norm")

    listed = run("comments", "1")[1].splitlines()

    assert listed[0].startswith("1  ada, c0ffee, llama.py, line 2: A. Teacher, ")
    assert listed[0].endswith(": Why?")
    assert listed[1].endswith(": State the shape after each step.")
    assert "task norm" in listed[1]


def test_a_comment_is_withdrawn_and_stays(run: Run) -> None:
    run("comment", "ada", "1", "All wrong", *BY)

    assert run("comment", "ada", "1", "I misread it", *BY, "--withdraw", "1")[0] == 0

    listed = run("comments", "1")[1]
    assert "All wrong" in listed
    assert "withdrawn by A. Teacher: I misread it" in listed
    code, _, told = run("comment", "ada", "1", "again", *BY, "--withdraw", "1")
    assert (code, "already" in told) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("ada", "1", "x", "--author", " "), "--author is empty"),
        (("ada", "1", *BY), "a comment needs words"),
        (("ada", "1", "x", *BY, "--line", "3"), "it has 1 to 2"),
        (("ada", "1", "x", *BY, "--line", "other.py:1"), "not among the files"),
        (("ada", "1", "x", *BY, "--task", "nothing"), "has no task"),
        (("ada", "1", "x", *BY, "--canned", "none"), "there are: shapes"),
        (("ada", "1", "x", *BY, "--commit", "dead"), "there is: c0ffee"),
        (("bob", "1", "x", *BY), "has no work"),
        (("eve", "1", "x", *BY), "eve"),
        (("ada", "1", "x", *BY, "--withdraw", "7"), "there is no comment 7"),
    ],
)
def test_a_comment_on_nothing_is_refused(run: Run, arguments: tuple[str, ...], why: str) -> None:
    code, _, told = run("comment", *arguments)

    assert code == 2
    assert why in told
    assert "nothing was said" in run("comments", "1")[1]


def test_the_pages_of_a_class_show_what_stands(run: Run, folder: Path) -> None:
    run("comment", "ada", "1", "Good <b>work</b>", *BY, "--task", "norm")
    run("comment", "ada", "1", "All wrong", *BY)
    run("comment", "ada", "1", "no", *BY, "--withdraw", "2")

    assert run("--html", "pages")[0] == 0

    page = (folder / "pages" / "students" / "ada" / f"{LAB}.html").read_text()
    assert "A. Teacher on task norm:</strong> Good &lt;b&gt;work&lt;/b&gt;" in page
    assert "All wrong" not in page


def test_a_task_gets_points_by_hand_and_loses_them_again(run: Run) -> None:
    said = (*BY, "--reason", "a typo")

    code, out, _ = run("points", "ada", "1", "norm", "4", *said)
    again = run("points", "ada", "1", "norm", "none", *said)[1]

    assert code == 0
    assert out.startswith(f"ada, {LAB}: 84 / 100: ")
    assert "norm set to 4 of 50 by A. Teacher" in out
    assert again.startswith(f"ada, {LAB}: 80 / 100: ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("norm", "11", *BY, "--reason", "x"), "a number from 0 to 10"),
        (("norm", "nan", *BY, "--reason", "x"), "a number from 0 to 10"),
        (("nothing", "1", *BY, "--reason", "x"), "has no task"),
        (("norm", "1", *BY, "--reason", " "), "--reason is empty"),
        (("norm", "none", *BY, "--reason", "x"), "no points by hand"),
    ],
)
def test_points_that_make_no_sense_are_refused(
    run: Run, arguments: tuple[str, ...], why: str
) -> None:
    code, _, told = run("points", "ada", "1", *arguments)

    assert code == 2
    assert why in told
    assert "set to" not in run("--student", "ada")[1]


def test_a_rubric_is_read_by_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = find_lab("1", find_root())
    rubric = (Criterion("steps", "Steps", 10.0, "Each is said.", "norm"),)
    read = replace(lab, rubric=rubric, readers=2)
    monkeypatch.setattr(reading, "find_lab", lambda text, root: read)

    told = [run("score", "ada", "1", "steps", "4", "--author", name)[1] for name in "AB"]
    run("score", "ada", "1", "steps", "5", "--author", "B")
    refused = run("score", "ada", "1", "steps", "5", "--author", "C", "--settle")
    settled = run("score", "ada", "1", "steps", "5", "--author", "C", "--settle", "--reason", "x")

    assert told == [
        f"ada, {LAB}, steps: 1 of 2 readers\n",
        f"ada, {LAB}, steps: settled: 4 of 10\n",
    ]
    assert (refused[0], "--reason is empty" in refused[2]) == (2, True)
    assert settled[1] == f"ada, {LAB}, steps: settled: 5 of 10\n"
    assert "norm set to 5 of 50 by C" in run("--student", "ada")[1]
