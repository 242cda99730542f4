"""``lab gradebook hold`` and ``release``: who is held back, by whom and why, is never lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")

from stand_ins.classroom import ADA, BOB, LAB, NOON, attempt

from grader.cli import app
from grader.course.database.store import Store

SAID = ("--author", "G. Hopper", "--reason", "=to be talked about")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "course.toml").write_text('title = "Inference"\n')
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA, BOB])
        store.add_attempt(attempt("ada", 80.0, run=store.start_run(LAB, NOON)))

    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main(["gradebook", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_who_is_held_back_is_listed_with_who_and_why(run: Run) -> None:
    code, out, _ = run("hold", "ada", "1", *SAID)

    assert code == 0
    assert "held back by the course, ask your instructor" in out
    assert f"ada, {LAB}: held back by G. Hopper on " in run("holds")[1]
    assert "held back by G. Hopper: =to be talked about" in run("--student", "ada")[1]


def test_what_is_released_is_listed_no_more_and_stays_recorded(run: Run) -> None:
    run("hold", "ada", "1", *SAID)

    assert run("release", "ada", "1", *SAID)[0] == 0

    assert run("holds")[1] == "nothing is held back\n"
    assert run("holds", "--all")[1].count("=to be talked about") == 2
    assert "held back" not in run("--student", "ada")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("release", "ada", "1", *SAID), "is not held back"),
        (("hold", "cyd", "1", *SAID), "there is no student 'cyd'"),
        (("hold", "ada", "1", "--author", "G. Hopper", "--reason", " "), "--reason is empty"),
    ],
)
def test_a_word_that_makes_no_sense_is_refused(
    run: Run, arguments: tuple[str, ...], told: str
) -> None:
    code, _, err = run(*arguments)

    assert code == 2
    assert told in err
    assert run("holds", "--all")[1] == "nothing is held back\n"


def test_a_second_hold_is_refused(run: Run) -> None:
    run("hold", "ada", "1", *SAID)

    code, _, err = run("hold", "ada", "1", *SAID)

    assert code == 2
    assert "held back already" in err
