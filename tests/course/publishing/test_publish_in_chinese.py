"""``lab publish --lang zh``: the Chinese texts at the plain names, the English handout beside."""

from pathlib import Path

import pytest
from stand_ins.instructors import commit, make_remote, make_repository, write

import grader.course.commands.author
from grader import ROOT
from grader.cli.app import main
from grader.course.config import load_course
from grader.course.git import git
from grader.course.publishing.beside.handing import Terms
from grader.course.publishing.beside.readme import readmes
from grader.course.publishing.publish import Order, publish
from grader.errors import CourseError
from grader.labs.documents.untouched import holds_nothing, is_untouched
from grader.labs.lab import find_lab
from grader.labs.translations import pages, stubs
from grader.languages.language import Language

TITLE = "Inference, autumn 2026"
LAB = "labs/90_echo"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Instructors whose lab is in both languages; one section of the handout is stale."""
    folder = make_repository(tmp_path / "instructors")
    handout, prompts = (
        (folder / LAB / name).read_text() for name in ("README.md", "PSEUDOCODE.md")
    )
    stub = (folder / LAB / "echo.py").read_text()
    write(folder, f"{LAB}/README.zh.md", pages.stamped(handout, f"{handout}\n中文讲义\n"))
    write(folder, f"{LAB}/PSEUDOCODE.zh.md", pages.stamped(prompts, f"{prompts}\n> 中文提示\n"))
    write(folder, f"{LAB}/echo.zh.py", stubs.stamped(stub, f"{stub}# 中文骨架\n"))
    write(folder, f"{LAB}/lab.zh.po", 'msgid "a"\nmsgstr "b"\n')
    commit(folder, "In Chinese")
    return folder


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


def text(remote: Path, name: str) -> str:
    return git("cat-file", "blob", f"main:{LAB}/{name}", folder=remote)


def names(remote: Path) -> set[str]:
    found = git("ls-tree", "--name-only", "main", f"{LAB}/", folder=remote).split()
    return {name.rpartition("/")[2] for name in found}


def test_chinese_course_has_chinese_texts_at_the_plain_names(root: Path, remote: Path) -> None:
    publish(root, Order(("90",), str(remote), "main", TITLE, language=Language.CHINESE))

    assert "中文讲义" in text(remote, "README.md")
    assert "中文提示" in text(remote, "PSEUDOCODE.md")
    assert text(remote, "echo.py").endswith("# 中文骨架")
    assert "<!-- en:" not in text(remote, "README.md")
    assert "# en:" not in text(remote, "echo.py")
    assert text(remote, "README.en.md") == (root / LAB / "README.md").read_text().strip()
    assert not {name for name in names(remote) if ".zh." in name} - {"lab.zh.po"}


def top(remote: Path, name: str) -> str:
    return git("cat-file", "blob", f"main:{name}", folder=remote)


def test_page_of_the_tree_and_its_targets_are_told_in_chinese(root: Path, remote: Path) -> None:
    publish(root, Order(("90",), str(remote), "main", TITLE, language=Language.CHINESE))

    page, english, makefile = (top(remote, n) for n in ("README.md", "README.en.md", "Makefile"))
    assert "你需要 Linux" in page
    assert f"[90]({LAB}/README.md)" in page
    assert "<!-- en:" not in page
    assert "You need Linux" in english
    assert f"[90]({LAB}/README.en.md)" in english
    assert "\ngrade: need-lab $(READY) ## 为一个实验评分：LAB=1" in makefile
    assert "echo '错误：哪个实验？'" in makefile


def test_page_of_an_english_tree_has_a_chinese_one_beside(root: Path, remote: Path) -> None:
    publish(root, Order(("90",), str(remote), "main", TITLE))

    page, chinese, makefile = (top(remote, n) for n in ("README.md", "README.zh.md", "Makefile"))
    assert "You need Linux" in page
    assert "你需要 Linux" in chinese
    assert f"[90]({LAB}/README.zh.md)" in chinese
    assert "## grade a lab: LAB=1" in makefile


@pytest.mark.parametrize("terms", [Terms(), Terms(branch="s/{id}"), Terms(address="https://a.b")])
def test_both_pages_have_the_same_code(terms: Terms) -> None:
    labs = [find_lab("1", ROOT), find_lab("3", ROOT)]

    found = readmes({}, labs, TITLE, ("run", "chat", "serve"), terms, Language.ENGLISH)

    english, chinese = (found[name].decode() for name in ("README.md", "README.zh.md"))
    told = [each.says for each in pages.problems(english, chinese)]
    assert {says for says in told if says != pages.UNMARKED} == set()


def test_english_course_has_the_chinese_handout_beside(root: Path, remote: Path) -> None:
    publish(root, Order(("90",), str(remote), "main", TITLE))

    assert text(remote, "README.md") == (root / LAB / "README.md").read_text().strip()
    assert "中文讲义" in text(remote, "README.zh.md")
    assert {name for name in names(remote) if ".zh." in name} == {"README.zh.md", "lab.zh.po"}


def test_stale_section_says_so_to_students(root: Path, remote: Path) -> None:
    handout = root / LAB / "README.md"
    handout.write_text(handout.read_text() + "One more sentence.\n")
    commit(root, "Change the handout")

    publish(root, Order(("90",), str(remote), "main", TITLE, language=Language.CHINESE))

    assert "可能已过时" in text(remote, "README.md")


def test_what_is_not_translated_stays_english(root: Path, remote: Path) -> None:
    (root / LAB / "echo.zh.py").unlink()
    commit(root, "One language less")

    publish(root, Order(("90",), str(remote), "main", TITLE, language=Language.CHINESE))

    assert text(remote, "echo.py") == (root / LAB / "echo.py").read_text().strip()


def test_course_says_the_language(
    root: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    monkeypatch.chdir(root.parent)
    course = f'title = "{TITLE}"\nlanguage = "zh"\n[publish]\nremote = "{remote.name}"\n'
    write(root.parent, "course.toml", course)

    assert main(["publish", "90", "--unproven"]) == 0

    assert "中文讲义" in text(remote, "README.md")


def test_unknown_language_is_told_with_file_and_key(tmp_path: Path) -> None:
    write(tmp_path, "course.toml", f'title = "{TITLE}"\nlanguage = "chinese"\n')

    with pytest.raises(CourseError, match=r"course\.toml: language"):
        load_course(tmp_path / "course.toml")


def test_untouched_chinese_stub_is_nothing_handed_in(root: Path) -> None:
    lab = find_lab("90", root)
    stub = stubs.told((root / LAB / "echo.zh.py").read_text())
    prompts = pages.told(
        (root / LAB / "PSEUDOCODE.md").read_text(), (root / LAB / "PSEUDOCODE.zh.md").read_text()
    )

    assert is_untouched(lab, stub.encode())
    assert not is_untouched(lab, stub.replace("# 中文骨架", "x = 1").encode())
    assert holds_nothing(lab, {"echo.py": stub.encode(), "PSEUDOCODE.md": prompts.encode()})
    answered = {"echo.py": stub.encode(), "PSEUDOCODE.md": f"{prompts}\n我的步骤\n".encode()}
    assert not holds_nothing(lab, answered)
