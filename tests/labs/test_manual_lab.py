"""A lab that people grade: what its lab.toml may say, what is looked at, and what is nothing."""

from pathlib import Path

import pytest
from stand_ins.isolation import require_sandbox
from stand_ins.manual_lab import DESIGN, NAME, NOTES, OWN, OWN_NOTES, TOML, work, write_manual_lab

from grader.cli import commands
from grader.cli.app import main
from grader.errors import LabError, UsageError
from grader.labs.documents.submission import collect
from grader.labs.documents.untouched import digest, holds_nothing, touched
from grader.labs.published import FILE, Published

FILES = 'files = ["DESIGN.md", "notes.txt"]\n'


def test_it_is_read_with_the_files_that_it_names(tmp_path: Path) -> None:
    lab = write_manual_lab(tmp_path)

    assert lab.is_manual
    assert lab.handed_in == ("DESIGN.md", "notes.txt")
    assert [task.id for task in lab.tasks] == ["design", "notes"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"manual"', '"people"', 'grading: is "judge" or "manual", not \'people\''),
        ('grading = "manual"\n', "", 'files: needs grading = "manual"'),
        (FILES, "", "files: is missing: which files are handed in of a manual lab"),
        ("notes.txt", "../notes", "files: '../notes' is no plain name of a file"),
        ("notes.txt", "README.md", "files: 'README.md' is the lab's own file"),
        ("notes.txt", "design.md", "files: holds two names that differ by case alone"),
        (FILES, FILES + 'imports = ["torch"]\n', "imports: is for tests of code"),
        (FILES, FILES + "[limits]\nranks = 2\n", "limits: is for tests of code"),
        (
            'hint = "Who',
            'names = ["page"]\nhint = "Who',
            "tasks.names: 'design' has it for a judge",
        ),
        ("points = 70", "points = 60", "rubric.points: those of 'design' add up to 70, not 60"),
        ("points = 30\nhint", "hint", "tasks[2].points: is missing"),
        ('task = "design"\nprompt', "prompt", "rubric.task: there is no task 'pseudocode'"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in TOML

    with pytest.raises(LabError) as error:
        write_manual_lab(tmp_path, TOML.replace(old, new, 1))

    assert error.value.message.startswith(f"labs/{NAME}/lab.toml: {told}")


def test_a_hidden_suite_does_not_fit(tmp_path: Path) -> None:
    suite = tmp_path / "grader" / "suites" / f"test_{NAME}.py"
    suite.parent.mkdir(parents=True)
    suite.write_text("")

    with pytest.raises(LabError, match="no test grades a manual lab"):
        write_manual_lab(tmp_path)


def test_public_tests_need_the_code_that_they_test(tmp_path: Path) -> None:
    lab = write_manual_lab(tmp_path)
    lab.public_suite.write_text("")

    with pytest.raises(LabError, match="the code that they test is not handed in"):
        write_manual_lab(tmp_path)


def test_what_is_there_of_its_files_is_taken(tmp_path: Path) -> None:
    lab = write_manual_lab(tmp_path / "course")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "DESIGN.md").write_text(OWN)
    (tmp_path / "work" / "other.py").write_text("x = 1\n")

    taken = collect(lab, tmp_path / "work", tmp_path / "taken")

    assert taken.files == {"DESIGN.md": OWN.encode()}
    (tmp_path / "work" / "DESIGN.md").unlink()
    with pytest.raises(UsageError, match=r"has none of DESIGN\.md, notes\.txt"):
        collect(lab, tmp_path / "work", tmp_path / "again")
    with pytest.raises(UsageError, match="is no folder"):
        collect(lab, tmp_path / "work" / "other.py", tmp_path / "again")


def test_it_is_nothing_while_each_file_is_as_it_was_given_out(tmp_path: Path) -> None:
    lab = write_manual_lab(tmp_path)

    assert holds_nothing(lab, work(DESIGN=DESIGN.replace("\n", "\r\n"), notes=NOTES + "\n\n"))
    assert not holds_nothing(lab, work(DESIGN=DESIGN))
    assert touched(lab, work(DESIGN=DESIGN)) == ["notes.txt"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's tree, in which the lab is all there is."""
    write_manual_lab(tmp_path)
    given = {"DESIGN.md": digest(DESIGN.encode()), "notes.txt": digest(NOTES.encode())}
    (tmp_path / FILE).write_text(Published("main", given={NAME: given}).text())
    monkeypatch.setattr(commands, "find_root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path / "labs" / NAME


def test_lab_grade_says_that_people_read_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "DESIGN.md").write_text(OWN)
    (tree / "notes.txt").write_text(OWN_NOTES)

    code = main(["grade", "94"])

    said = capsys.readouterr().out
    assert code == 0
    assert "ready to be handed in (100 points in all)" in said
    assert "People read this lab: no test gives points" in said
    assert "people read it once you have handed it in: make submit LAB=94" in said
    assert "sandbox" not in said


def test_lab_grade_names_what_is_missing_or_untouched(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "notes.txt").unlink()

    code = main(["grade", "94"])

    said = capsys.readouterr().out
    assert code == 1
    assert "DESIGN.md is as it was given out." in said
    assert "notes.txt is not there." in said
    assert "write DESIGN.md, notes.txt, then make grade LAB=94" in said


@pytest.mark.parametrize("form", ["json", "html", "markdown", "junit", "gradescope"])
def test_every_form_of_its_report_says_so(
    tree: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "DESIGN.md").write_text(OWN)
    (tree / "notes.txt").write_text(OWN_NOTES)

    assert main(["grade", "94", f"--{form}", "out"]) == 0

    text = Path("out").read_text()
    assert "no test of it has reported" not in text
    assert "ready to be handed in" in text or form == "junit"
    if form == "json":
        assert '"grading": "manual"' in text
        assert '"status": "ready to be handed in"' in text


TESTED = TOML.replace("notes.txt", "design.py").replace(
    '[[tasks]]\nid = "design"', 'imports = ["torch"]\n\n[[tasks]]\nid = "design"'
)
PUBLIC = """
from grader.suite import task


@task("notes")
def test_the_capacity_is_a_number(student):
    assert student.capacity(3) == 12
"""


@pytest.mark.parametrize(("pages", "code"), [(4, 0), (5, 1)])
def test_public_tests_run_and_give_no_points(
    tree: Path, capsys: pytest.CaptureFixture[str], pages: int, code: int
) -> None:
    require_sandbox()
    (tree / "lab.toml").write_text(TESTED)
    (tree / "test_design.py").write_text(PUBLIC)
    given = {"DESIGN.md": digest(DESIGN.encode()), "design.py": digest(b"")}
    (tree.parents[1] / FILE).write_text(Published("main", given={NAME: given}).text())
    (tree / "DESIGN.md").write_text(OWN)
    (tree / "design.py").write_text(f"def capacity(n):\n    return {pages} * n\n")

    assert main(["grade", "94"]) == code

    said = capsys.readouterr().out
    assert "100 points in all" in said
    assert "1 of 1" in said if code == 0 else "0 of 1" in said
    assert ("warning: test_the_capacity_is_a_number failed" in said) == (code == 1)
    assert ("not ready to be handed in" in said) == (code == 1)
