"""`lab python`: a script of the student's, with Triton as a worker has it."""

from pathlib import Path

import pytest

from grader.__main__ import main

PRODUCT = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))

x = torch.eye(16, dtype=torch.bfloat16) * 3
out = torch.zeros(16, 16)
product[(1,)](x, x, out, 16)
print(sys.argv[1:], out.diagonal().tolist()[0], __name__)
"""


def test_script_has_the_interpreter_of_a_worker(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(PRODUCT)

    assert main(["python", "6", "--device", "cpu", str(script), "one", "--two"]) == 0

    assert "['one', '--two'] 9.0 __main__" in capfd.readouterr().out


def test_script_can_import_the_lab_and_what_is_given(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import sampling, labs.common\nprint(sampling.__file__)\nsys.exit(3)\n")
    script.write_text("import sys\n" + script.read_text())

    assert main(["python", "3", str(script)]) == 3

    assert "labs/03_sampling/sampling.py" in capfd.readouterr().out


def test_script_that_is_not_there_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["python", "6", "nowhere.py"]) == 2

    assert "nowhere.py is no file" in capsys.readouterr().err


RACE = """
import torch, triton, triton.language as tl

@triton.jit
def count(out):
    tl.store(out, tl.load(out) + 1)

count[(4,)](torch.zeros(1))
print("the script's own")
"""


def test_script_is_told_which_mistakes_its_kernels_made(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(RACE)

    assert main(["python", "6", "--device", "cpu", "--sanitize", str(script)]) == 0

    shown = capfd.readouterr()
    assert "the script's own" in shown.out
    assert "sanitizer: 2 mistakes that a GPU would not forgive" in shown.err
    assert "write-write: Program 1 writes out[0], which program 0 has written" in shown.err
    assert "mine.py:6: tl.store(out, tl.load(out) + 1)" in shown.err


def test_script_that_fails_is_told_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.py"
    script.write_text(RACE + "raise SystemExit(4)\n")

    assert main(["python", "6", "--device", "cpu", "--sanitize", str(script)]) == 4

    assert "sanitizer: 2 mistakes" in capfd.readouterr().err


def test_script_is_told_nothing_without_the_sanitizer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(RACE)

    assert main(["python", "6", "--device", "cpu", str(script)]) == 0

    assert "sanitizer" not in capfd.readouterr().err


def test_right_kernels_are_said_to_be_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(PRODUCT)

    assert main(["python", "6", "--device", "cpu", "--sanitize", str(script)]) == 0

    assert "sanitizer: no mistake found in the launches of this run" in capfd.readouterr().err
