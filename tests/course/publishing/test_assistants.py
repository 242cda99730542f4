"""What published trees ask of assistants, by the course's word."""

from pathlib import Path

import pytest
from stand_ins.instructors import make_remote, make_repository, write

from grader.cli.app import main
from grader.course.config import Assistants, load_course
from grader.course.git import git
from grader.course.publishing.beside.assistants import NAMES, assistant_files
from grader.labs.lab import all_labs, find_root

LABS = all_labs(find_root())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_repository(tmp_path / "instructors")
    make_remote(tmp_path / "labs.git")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("grader.course.commands.author.find_root", lambda: folder)
    return folder


def published(root: Path, word: str) -> dict[str, str]:
    """Publish lab 90 as a course has it and return what is on the branch beside labs and judge."""
    write(root, "course.toml", f'title = "Labs"\n{word}\n[publish]\nremote = "../labs.git"\n')
    assert main(["publish", "90", "--unproven"]) == 0
    remote = root.parent / "labs.git"
    paths = git("ls-tree", "-r", "--name-only", "main", folder=remote).splitlines()
    return {name: git("cat-file", "blob", f"main:{name}", folder=remote) for name in paths}


@pytest.mark.parametrize("word", ["", 'assistants = "tutor"'])
def test_a_published_tree_asks_assistants_to_teach(root: Path, word: str) -> None:
    files = published(root, word)

    assert "Ask first." in files["AGENTS.md"]
    assert "- `labs/90_echo/echo.py`, `labs/90_echo/PSEUDOCODE.md`: `" in files["AGENTS.md"]
    assert files[".github/copilot-instructions.md"] == files["AGENTS.md"]
    for name in ("CLAUDE.md", "GEMINI.md", ".cursor/rules/course.mdc"):
        assert files[name].rstrip().endswith("AGENTS.md")


def test_a_stricter_course_asks_for_no_help_with_tasks(root: Path) -> None:
    files = published(root, 'assistants = "strict"')

    assert "you do not help" in files["AGENTS.md"]
    assert files.keys() >= {*NAMES}


def test_a_course_that_asks_nothing_lays_nothing_out_and_takes_it_away(root: Path) -> None:
    assert published(root, "").keys() >= {*NAMES}

    assert not published(root, 'assistants = "off"').keys() & {*NAMES}


def test_an_instructors_own_file_of_that_name_does_not_stop_a_publication(root: Path) -> None:
    write(root, "AGENTS.md", "For those who write the labs.\n")

    assert "For those who write" not in published(root, "")["AGENTS.md"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('assistants = "none"', "must be tutor or strict or off, not 'none'"),
        ("assistants = false", "must be a string, not a boolean"),
    ],
)
def test_a_mistake_is_told_with_its_key(
    root: Path, capsys: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    write(root, "course.toml", f'title = "Labs"\n{line}\n')

    assert main(["publish", "90", "--to", "../labs.git"]) != 0
    assert f"course.toml: assistants: {told}" in capsys.readouterr().err


@pytest.mark.parametrize("policy", [Assistants.TUTOR, Assistants.STRICT])
def test_each_function_that_a_task_names_is_named_as_the_students_work(policy: Assistants) -> None:
    text = assistant_files(policy, LABS)["AGENTS.md"].decode()

    for lab in LABS:
        for name in {name for task in lab.tasks for name in task.functions}:
            assert f"`{name}`" in text
        for file in lab.handed_in:
            assert f"`labs/{lab.name}/{file}`" in text
    assert "$" not in text


def test_course_of_the_documentation_has_the_policy(tmp_path: Path) -> None:
    page = (find_root() / "docs/course.md").read_text(encoding="utf-8")
    (tmp_path / "course.toml").write_text(page.split("```toml\n")[1].split("```")[0])

    assert load_course(tmp_path / "course.toml").assistants is Assistants.TUTOR
