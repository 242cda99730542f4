"""A lab that people grade, from its publication to the exports: nothing of it is ever run."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.instructors import commit, make_remote, make_repository
from stand_ins.manual_lab import DESIGN, NAME, NOTES, OWN, OWN_NOTES, work, write_manual_lab
from stand_ins.remotes import Remote

from grader.cli import app, commands
from grader.course.commands import author, classes, grading
from grader.course.commands.marks import book, items, similarity
from grader.course.commands.reading import reading
from grader.course.git import git

MARCH = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY = ("--author", "A. Teacher")
COURSE = """
title = "Inference"
zone = "UTC"
[deadlines]
90 = 2026-03-09T12:00:00Z
94 = 2026-03-03T12:00:00Z
[late]
per_day = 0.1
days = 5
[total]
cap = 100
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The instructors' repository."""
    made = make_repository(tmp_path / "instructors")
    write_manual_lab(made)
    (made / "solutions" / NAME).mkdir()
    (made / "solutions" / NAME / "ANSWERS.md").write_text("What we look for is a decision.\n")
    commit(made, "Add a lab that people grade")
    for module in (commands, author, classes, grading, book, items, reading, similarity):
        monkeypatch.setattr(module, "find_root", lambda: made)
    return made


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "class.git")


@pytest.fixture
def run(
    root: Path,
    remote: Remote,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command of a course of three, whose branches are at the remote."""
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "course.toml").write_text(f'{COURSE}[collect]\nremote = "{remote.folder}"\n')
    (folder / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\ncyd,Cyd\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = app.main([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def put(remote: Remote, student: str, at: datetime = MARCH, **changes: str) -> str:
    files = {f"labs/{NAME}/{name}": text for name, text in work(**changes).items()}
    return remote.commit(f"student/{student}", files, at)


def row(run: Run, student: str) -> dict[str, str]:
    found = csv.DictReader(io.StringIO(run("gradebook", "--csv", "long")[1]))
    return next(each for each in found if each["student"] == student and each["lab"] == NAME)


def test_it_is_published_by_the_proof_of_its_files(root: Path, tmp_path: Path, run: Run) -> None:
    students = make_remote(tmp_path / "students.git")
    publish = ("publish", "94", "--to", str(students))

    code, _, said = run(*publish)

    assert code == 0
    assert f"proving {NAME}: its files, since people grade it\n" in said
    names = git("ls-tree", "-r", "--name-only", "main", folder=students).splitlines()
    own = [name for name in names if NAME in name]
    assert own == [
        f"labs/{NAME}/{name}"
        for name in sorted(("DESIGN.md", "README.md", "lab.toml", "notes.txt"))
    ]
    told = git("show", "main:README.md", folder=students)
    assert "Of lab 94 people read `DESIGN.md`, `notes.txt`: no test gives points." in told
    assert f'[given."{NAME}"]' in git("show", "main:published.toml", folder=students)
    (root / "labs" / NAME / "scratch.txt").write_text("x")
    (root / "labs" / NAME / "README.md").write_text("# Lab 94\n\nWrite `DESIGN.md`.\n")
    commit(root, "Forget a file")

    code, out, said = run(*publish)

    assert code == 1
    assert "stray: scratch.txt" in out
    assert "does not name notes.txt" in out
    assert "nothing was published" in said


def test_lab_check_looks_at_its_files_alone(root: Path, run: Run) -> None:
    code, out, _ = run("check", "94")
    assert (code, out.splitlines()[-1]) == (0, f"{NAME}: 4 ok, 1 warning")
    assert "the lab is in English only" in out

    (root / "labs" / NAME / "notes.txt").unlink()
    lab = (root / "labs" / NAME / "lab.toml").read_text()
    (root / "labs" / NAME / "lab.toml").write_text(lab.replace('"Decision"', '"Verdict"'))

    code, out, _ = run("check", "94")
    assert code == 1
    assert "missing: notes.txt" in out
    assert "no file has the heading 'Verdict' that 'decision' reads" in out


def test_a_class_is_collected_read_and_exported(run: Run, remote: Remote) -> None:
    put(remote, "ada", MARCH + timedelta(days=2))  # one day late
    put(remote, "bob", DESIGN=DESIGN, notes=NOTES)
    remote.commit("student/cyd", {"94_design/DESIGN.md": OWN, "94_design/notes.txt": NOTES}, MARCH)

    code, out, _ = run("collect", "94", "--late")

    assert code == 1
    assert "missing bob (Bob): only the untouched stub is there" in out
    assert "look at cyd (Cyd): notes.txt is as it was given out" in out

    code, out, _ = run("grade-all", "94")

    assert code == 0
    assert f"{NAME}, run 1: people grade it; 2 new waiting for a reader\n" in out
    assert "nothing to read of bob: only the untouched stub is there" in out
    again = run("grade-all", "94")[1]
    assert f"{NAME}: people grade it; 0 new waiting for a reader, 2 were recorded before\n" in again

    code, out, _ = run("gradebook")
    assert "unread" in out
    assert "2 marks are waiting for a reader: no mark yet, and in no total" in out
    assert row(run, "ada")["points"] == ""
    assert row(run, "ada")["why"].endswith("10 % of its points are lost; waiting for a reader")
    assert "(waiting for a reader)" in run("gradebook", "--student", "ada")[1]
    assert run("gradebook", "--canvas")[2].startswith("note: 2 marks are waiting")
    wide = [*csv.DictReader(io.StringIO(run("gradebook", "--csv", "wide")[1]))]
    assert [(each[NAME], each["possible"]) for each in wide] == [("", "0"), ("", "100"), ("", "0")]

    assert run("gradebook", "score", "ada", "94", "decision", "40", *BY)[0] == 0
    assert run("gradebook", "score", "ada", "94", "numbers", "20", *BY)[0] == 0
    assert row(run, "ada")["points"] == ""
    assert "waiting for a reader: 1 of 2 tasks have points" in row(run, "ada")["why"]
    code, out, _ = run("gradebook", "points", "ada", "94", "notes", "30", *BY, "--reason", "good")

    assert code == 0
    assert out.startswith(f"ada, {NAME}: 81 / 100: ")
    assert "10 % of its 90 points are lost" in out
    assert row(run, "ada")["points"] == "81"
    wide = [*csv.DictReader(io.StringIO(run("gradebook", "--csv", "wide")[1]))]
    assert (wide[0][NAME], wide[0]["possible"]) == ("81", "100")
    canvas = run("gradebook", "--canvas")[1]
    assert "Ada,,ada,ada,,81" in canvas
    assert "Cyd,,cyd,cyd,," in canvas
    moodle = run("gradebook", "--moodle")[1]
    assert "Ada,81" in moodle
    assert "Cyd" not in moodle
    pages = Path("pages")
    assert run("gradebook", "--html", str(pages))[0] == 0
    index = (pages / "index.html").read_text()
    assert "1 waiting for a reader" in index
    assert ">unread</td>" in index or ">unread</a>" in index
    assert "waiting for a reader" in (pages / "students" / "cyd.html").read_text()
    assert "90 of 100 points" in (pages / "students" / "ada" / f"{NAME}.html").read_text()


def test_what_is_for_code_alone_says_so(run: Run, remote: Remote) -> None:
    put(remote, "ada")
    run("collect", "94")
    run("grade-all", "94")

    code, _, said = run("similarity", "94")

    assert code == 2
    assert f"people read {NAME}: of code alone it is told what is alike" in said
    code, _, said = run("gradebook", "items", "94")
    assert code == 2
    assert f"people grade {NAME}: no test tells what was not understood" in said


def test_nothing_is_graded_again(run: Run, remote: Remote) -> None:
    put(remote, "ada")
    run("collect", "94")
    assert "would be waiting for a reader: ada" in run("grade-all", "94", "--dry-run")[1]

    code, _, said = run("grade-all", "94", "--on-trial", "why not", *BY)

    assert code == 2
    assert f"people grade {NAME}: there is nothing to grade again" in said


def test_what_is_handed_in_again_waits_beside_the_mark(run: Run, remote: Remote) -> None:
    first = put(remote, "ada")
    run("collect", "94", "--late")
    run("grade-all", "94")
    run("gradebook", "points", "ada", "94", "design", "70", *BY, "--reason", "good")
    run("gradebook", "points", "ada", "94", "notes", "10", *BY, "--reason", "short")
    files = {f"labs/{NAME}/DESIGN.md": OWN + "More.\n", f"labs/{NAME}/notes.txt": OWN_NOTES}
    second = remote.commit("student/ada", files, MARCH + timedelta(days=2), onto=first)
    run("collect", "94", "--late", "--refresh")

    run("grade-all", "94")

    found = row(run, "ada")
    assert (found["points"], found["commit"]) == ("80", first)
    assert f"{second[:10]} of 2026-03-04 12:00 UTC is waiting for a reader" in found["why"]
    assert "unread" not in run("gradebook")[1]
