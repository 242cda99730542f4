"""lab show-wrong: the whole answer that an edit stands for, and what it changes."""

import shutil
from pathlib import Path

import pytest
from stand_ins.instructors import ROOT, write

import grader.course.commands.author
from grader.cli.app import main
from grader.prove.answers.edits import build

EDIT = '''"""The prompt comes back too.

Fails: generate
"""

LINES = {
    "generate": r"""
-     return tokens[len(prompt) :]
+     return tokens
""",
}
'''


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("labs", "solutions"):
        shutil.copytree(ROOT / "tests" / "demo" / name, tmp_path / name)
    write(tmp_path, "solutions/90_echo/wrong/prompt_too.py", EDIT)
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["prompt_too", "prompt_too.py", "wrong/prompt_too.py"])
def test_the_whole_answer_comes_first_then_the_difference(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show-wrong", "90", name]) == 0

    printed = capsys.readouterr().out
    whole = build(root / "solutions/90_echo/wrong/prompt_too.py")
    assert printed.startswith(whole)
    difference = printed.removeprefix(whole).splitlines()
    assert difference[:3] == [
        "",
        "--- solutions/90_echo/echo.py",
        "+++ solutions/90_echo/wrong/prompt_too.py",
    ]
    assert difference[-2:] == ["-    return tokens[len(prompt) :]", "+    return tokens"]


def test_an_answer_that_is_whole_stands_for_itself(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show-wrong", "90_echo", "no_check"]) == 0

    file = root / "solutions/90_echo/wrong/no_check.py"
    assert capsys.readouterr().out == file.read_text()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("prompt_to", "did you mean prompt_too?"), ("x", "those there are lie in ")],
)
def test_a_name_that_is_not_there_is_a_wrong_command_line(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show-wrong", "90", name]) == 2

    told = capsys.readouterr().err
    assert f"error: 90_echo has no wrong answer {name!r}" in told
    assert hint in told


def test_a_stale_edit_is_told_with_its_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root, "solutions/90_echo/wrong/prompt_too.py", EDIT.replace("len(prompt)", "1"))

    assert main(["show-wrong", "90", "prompt_too"]) == 2

    told = capsys.readouterr().err
    assert told == "error: prompt_too.py, line 8: is not found in generate\n"


def test_difference_of_a_source_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show-wrong", "93", "thrice"]) == 0

    difference = capsys.readouterr().out.partition("--- solutions/93_twice/twice.cpp")[2]
    changed = [line for line in difference.splitlines() if line[:2] in ("- ", "+ ")]
    loop = "  for (int64_t i = 0; i < x.numel(); ++i) to[i] = {} * from[i];"
    assert changed == ["-" + loop.format(2), "+" + loop.format(3)]
