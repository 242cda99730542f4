"""`lab submit`: what it says, commits and pushes, and what it leaves alone."""

import subprocess
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.cli.handing import by_git as module
from grader.labs.published import Published, published


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


TOML = """title = "Echo"
summary = "s"
[[tasks]]
id = "echo"
title = "Echo"
points = 95
hint = "h"
[[tasks]]
id = "pseudocode"
title = "Pseudocode"
points = 5
hint = "h"
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A student's clone of a remote, with one lab in it."""
    remote, folder = tmp_path / "remote.git", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    lab = folder / "labs" / "01_echo"
    lab.mkdir(parents=True)
    (lab / "lab.toml").write_text(TOML)
    (lab / "echo.py").write_text("def echo(x): raise NotImplementedError\n")
    (lab / "PSEUDOCODE.md").write_text("# Pseudocode\n\n## echo\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Student")
    git(folder, "config", "user.email", "student@university.example")
    git(folder, "remote", "add", "origin", str(remote))
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    git(folder, "push", "--quiet", "-u", "origin", "main")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # logged in nowhere
    monkeypatch.setattr("grader.labs.lab.ROOT", folder)
    return folder


def edit(clone: Path) -> None:
    (clone / "labs" / "01_echo" / "echo.py").write_text("def echo(x): return x\n")


def test_two_files_are_committed_and_arrive(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(clone)
    (clone / "notes.txt").write_text("mine\n")
    git(clone, "add", "notes.txt")

    assert main(["submit", "1", "--yes"]) == 0

    said = capsys.readouterr().out
    assert "labs/01_echo/echo.py: changed since the last commit" in said
    assert "labs/01_echo/PSEUDOCODE.md: as committed" in said
    assert "It has arrived" in said
    assert git(clone, "rev-parse", "HEAD") == git(clone, "rev-parse", "origin/main")
    assert git(clone, "show", "--name-only", "--format=%s", "HEAD").split("\n") == [
        "Hand in lab 01",
        "",
        "labs/01_echo/echo.py",
    ]
    assert git(clone, "diff", "--cached", "--name-only") == "notes.txt"  # as it was


def test_without_a_terminal_the_commands_are_shown(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(clone)
    before = git(clone, "rev-parse", "HEAD")

    assert main(["submit", "1"]) == 1

    said = capsys.readouterr().out
    assert "git commit -m 'Hand in lab 01' -- labs/01_echo/echo.py" in said
    assert "git push origin HEAD:refs/heads/main" in said
    assert git(clone, "rev-parse", "HEAD") == before


@pytest.mark.parametrize(("word", "code"), [("y", 0), ("yes", 0), ("n", 1), ("", 1)])
def test_student_is_asked(
    clone: Path, monkeypatch: pytest.MonkeyPatch, word: str, code: int
) -> None:
    edit(clone)
    monkeypatch.setattr(module.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: word)

    assert main(["submit", "1"]) == code

    assert (git(clone, "status", "--porcelain") == "") is (code == 0)


def test_what_is_committed_already_is_only_pushed(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(clone)
    git(clone, "commit", "--quiet", "-am", "Mine")

    assert main(["submit", "1", "--yes"]) == 0

    assert "git commit" not in capsys.readouterr().out
    assert git(clone, "ls-remote", "origin", "refs/heads/main").startswith(
        git(clone, "rev-parse", "HEAD")
    )


def test_push_that_is_refused_is_told(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(clone)
    git(clone, "remote", "set-url", "origin", str(clone / "nowhere.git"))

    assert main(["submit", "1", "--yes"]) == 1

    assert "git push origin HEAD:refs/heads/main failed" in capsys.readouterr().err
    assert git(clone, "log", "-1", "--format=%s") == "Hand in lab 01"  # nothing is lost


def test_clone_without_a_remote_is_told_how_to_add_one(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(clone, "remote", "remove", "origin")

    assert main(["submit", "1", "--yes"]) == 1

    assert "git remote add origin URL" in capsys.readouterr().out


def test_folder_that_is_no_clone_cannot_be_handed_in(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / ".git").rename(clone / "git")

    assert main(["submit", "1", "--yes"]) == 2

    assert "is no git repository" in capsys.readouterr().err


def test_branch_of_ones_own_goes_to_its_own_name(clone: Path) -> None:
    git(clone, "switch", "--quiet", "-c", "my-work")
    edit(clone)

    assert main(["submit", "1", "--yes"]) == 0

    assert git(clone, "ls-remote", "origin", "refs/heads/my-work").startswith(
        git(clone, "rev-parse", "HEAD")
    )


# The branch that the course is published on


@pytest.fixture(params=["tag there", "tag here", "file"])
def course(clone: Path, request: pytest.FixtureRequest) -> Path:
    """The clone of a course, which is on main, as each of three signs tells."""
    if request.param == "file":
        (clone / "published.toml").write_text(Published("main").text())
        return clone
    git(clone, "tag", "published/main/1")
    if request.param == "tag there":
        git(clone, "push", "--quiet", "origin", "published/main/1")
        git(clone, "tag", "--delete", "published/main/1")
    return clone


def tips(clone: Path) -> dict[str, str]:
    lines = git(clone, "ls-remote", "--heads", "origin").splitlines()
    return {name.removeprefix("refs/heads/"): tip for tip, name in (x.split("\t") for x in lines)}


@pytest.mark.parametrize("option", ["--yes", "--plan", None])
def test_nothing_goes_to_the_courses_branch_unasked(
    course: Path, capsys: pytest.CaptureFixture[str], option: str | None
) -> None:
    edit(course)
    before = git(course, "rev-parse", "HEAD")

    assert main(["submit", "1", *filter(None, [option])]) == 2

    told = capsys.readouterr().err
    assert "main of origin is the branch that the course is published on" in told
    assert "your work goes to student/ID" in told
    assert "hint: git config inferlab.id ID, with your id in the course" in told
    assert (git(course, "rev-parse", "HEAD"), tips(course)) == (before, {"main": before})


def test_student_is_asked_for_an_id_once(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(course)
    before = tips(course)["main"]
    answers = iter(["ann", "y"])
    monkeypatch.setattr(module.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: next(answers))

    assert main(["submit", "1"]) == 0
    (course / "labs" / "01_echo" / "echo.py").write_text("def echo(x): return [x]\n")
    assert main(["submit", "1", "--yes"]) == 0

    assert tips(course) == {"main": before, "student/ann": git(course, "rev-parse", "HEAD")}
    said = capsys.readouterr().out
    assert "Your work goes to a branch of your own, student/ID, by your id in the course." in said
    assert "branch main goes to student/ann of origin" in said


@pytest.mark.parametrize("who", ["", "a b", "../main", "-f", "x..y"])
def test_id_that_no_branch_can_have_is_refused(
    clone: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    git(clone, "tag", "published/main/1")
    monkeypatch.setattr(module.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: who)

    assert main(["submit", "1"]) == 2

    assert list(tips(clone)) == ["main"]


def test_course_says_where_work_goes(clone: Path) -> None:
    (clone / "published.toml").write_text(Published("main", "work-{id}").text())
    git(clone, "config", "inferlab.id", "bob")
    edit(clone)

    assert main(["submit", "1", "--yes"]) == 0

    assert sorted(tips(clone)) == ["main", "work-bob"]


def test_repository_of_ones_own_takes_what_the_course_names(clone: Path) -> None:
    """Where each student has a repository, the course's tags may have come along."""
    (clone / "published.toml").write_text(Published("main", "main").text())
    git(clone, "tag", "published/main/1")
    edit(clone)

    assert main(["submit", "1", "--yes"]) == 0

    assert tips(clone) == {"main": git(clone, "rev-parse", "HEAD")}


def test_branch_that_nobody_collects_from_is_told(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "published.toml").write_text(Published("main").text())
    git(clone, "switch", "--quiet", "-c", "my-work")
    edit(clone)

    assert main(["submit", "1", "--yes"]) == 0

    assert "note: work is collected from student/ID" in capsys.readouterr().out


def test_file_without_sense_is_as_none(clone: Path) -> None:
    (clone / "published.toml").write_text('branch = 3\nhand_in = "--force {id}"\n')

    assert published(clone) == Published()
