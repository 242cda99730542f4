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
