"""Plain pytest, as an editor's test explorer runs it, over a lab's public tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins.expectation import COURSE, DEMO

from grader import ROOT

FILE = f"labs/{DEMO}/test_echo.py"
MORE = '''

@task("scale")
@pytest.mark.parametrize("factor", [0.0, 3.0])
def test_of_any_factor(student, factor):
    """scale multiplies by whatever it is given."""
    assert_equal(student.scale(torch.ones(2), factor), torch.full((2,), factor), "scale")
'''


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one lab with two public tests, whose stub is as it is handed out."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(COURSE / "labs", tmp_path / "labs", ignore=ignored)
    shutil.copy(ROOT / "labs" / "conftest.py", tmp_path / "labs")
    file = tmp_path / FILE
    text = file.read_text().replace("import torch\n", "import pytest\nimport torch\n")
    file.write_text(text.replace("assert_close, task", "assert_close, assert_equal, task") + MORE)
    return tmp_path


def explore(course: Path, *arguments: str) -> tuple[int, str]:
    """Return what pytest ends with, and what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=course,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def write(course: Path, body: str) -> None:
    stub = course / "labs" / DEMO / "echo.py"
    text = stub.read_text()
    begin = text.index('    raise NotImplementedError("scale')
    end = text.index("\n", begin)
    stub.write_text(text[:begin] + f"    {body}" + text[end:])


def test_each_test_shows_the_judges_verdict(course: Path) -> None:
    write(course, "return x * 2")

    code, out = explore(course, FILE)

    assert code == 1
    assert f"PASSED {FILE}::test_doubles" in out
    assert f"FAILED {FILE}::test_of_any_factor[0.0]" in out
    assert "call: scale(torch.tensor([1.0, 1.0]), 0.0)" in out
    assert "expected  [0.0, 0.0]" in out


def test_one_that_is_chosen_is_shown_alone(course: Path) -> None:
    write(course, "return x * factor")

    code, out = explore(course, f"{FILE}::test_of_any_factor[3.0]")

    assert (code, "1 passed" in out) == (0, True)


def test_what_is_not_written_fails_by_its_line(course: Path) -> None:
    code, out = explore(course, f"labs/{DEMO}")

    assert code == 1
    assert "NotImplementedError" in out
    assert "3 failed" in out


def test_file_that_is_refused_fails_each_test_with_the_reason(course: Path) -> None:
    (course / "labs" / DEMO / "echo.py").write_text("def scale(:\n")

    code, out = explore(course, FILE)

    assert code == 1
    assert "SyntaxError" in out or "syntax" in out


def test_other_tests_beside_them_are_pytests(course: Path) -> None:
    own = course / "labs" / "test_own.py"
    own.write_text("def test_mine(tmp_path):\n    assert tmp_path.is_dir()\n")

    code, out = explore(course, str(own))

    assert (code, "1 passed" in out) == (0, True)


def test_tests_stand_below_their_task(course: Path) -> None:
    """An explorer makes its tree of what collecting prints: file, class, test."""
    code, out = explore(course, "--collect-only", "labs")

    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    task = lines.index("<Class scale>")
    assert lines[task - 1] == "<Module test_echo.py>"
    assert "<Function test_doubles>" in lines[task + 1 :]
    assert "<Function test_of_any_factor[3.0]>" in lines[task + 1 :]
    # Chosen by what an explorer knows it by, a test is what it always was.
    code, out = explore(course, "--collect-only", "-q", f"{FILE}::test_doubles")
    assert out.splitlines()[0] == f"{FILE}::test_doubles"
