"""Questions are published in both languages; right answers stay with the instructors."""

from pathlib import Path

import pytest
from stand_ins.asking import ANSWERS, CHINESE, ENGLISH
from stand_ins.instructors import commit, make_remote, make_repository, write

from grader.course.git import git
from grader.course.publishing.publish import Order, publish
from grader.labs.lab import load_lab
from grader.labs.translations.questions import stamped

TITLE = "Inference, autumn 2026"
LAB = "labs/90_echo"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "instructors")
    write(folder, f"{LAB}/questions.toml", ENGLISH)
    write(folder, f"{LAB}/questions.zh.toml", stamped(ENGLISH, CHINESE))
    write(folder, "solutions/90_echo/questions.py", ANSWERS)
    commit(folder, "Ask")
    return folder


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


def paths(remote: Path) -> set[str]:
    return {*git("ls-tree", "-r", "--name-only", "main", folder=remote).split()}


def test_students_get_what_is_asked_and_no_answer(root: Path, remote: Path, tmp_path: Path) -> None:
    publish(root, Order(("90",), str(remote), "main", TITLE))

    assert {f"{LAB}/questions.toml", f"{LAB}/questions.zh.toml"} <= paths(remote)
    assert not [path for path in paths(remote) if path.endswith("questions.py") and "sol" in path]
    chinese = git("cat-file", "blob", f"main:{LAB}/questions.zh.toml", folder=remote)
    assert "# translates" not in chinese
    assert "questions:" in git("cat-file", "blob", "main:Makefile", folder=remote)
    git("clone", "-q", "-b", "main", str(remote), str(tmp_path / "ada"), folder=tmp_path)
    lab = load_lab(tmp_path / "ada" / LAB)
    assert lab.asks
    assert lab.handed_in[-1] == "QUESTIONS.md"


def leaks(root: Path, remote: Path) -> list[tuple[str, str]]:
    found = publish(root, Order(("90",), str(remote), "main", TITLE)).leaks
    return [(leak.path, leak.place.file if leak.place else "") for leak in found]


def test_options_that_stand_in_both_files_are_no_leak(root: Path, remote: Path) -> None:
    option = "the softmax of all logits of the row"
    write(root, f"{LAB}/questions.toml", ENGLISH.replace('"min_p", "none', f'\n"{option}", "none'))
    answers = ANSWERS.replace('"none of them"]', f'\n"{option}"]')
    write(root, "solutions/90_echo/questions.py", answers)
    (root / LAB / "questions.zh.toml").unlink()
    commit(root, "Another option")

    assert leaks(root, remote) == []


def test_the_way_to_an_answer_is_a_leak(root: Path, remote: Path) -> None:
    handout = (root / LAB / "README.md").read_text(encoding="utf-8")
    line = "    while round(count * p * best, 9) <= round(1 - best, 9):"
    write(root, f"{LAB}/README.md", f"{handout}\n{line}\n")
    commit(root, "Leak")

    assert leaks(root, remote) == [(f"{LAB}/README.md", "solutions/90_echo/questions.py")]
