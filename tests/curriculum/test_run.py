"""`make run`: the student's own engine beside the right model."""

from pathlib import Path

import pytest

from labs import run
from labs.run import main, student_file

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = sorted(run.ENGINES)
ARGUMENTS = ["def main(", "--max-new-tokens", "6"]


def answer(number: int) -> Path:
    (folder,) = (ROOT / "solutions").glob(f"{number:02}_*")
    return folder / f"{folder.name[3:]}.py"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):  # a function that puts a file in the student's place
    def put(number: int, file: Path) -> list[str]:
        monkeypatch.setattr(run, "student_file", lambda _: (number, file))
        return [str(number), *ARGUMENTS]

    return put


@pytest.mark.parametrize("number", NUMBERS)
def test_right_answer_says_what_the_right_model_says(
    number: int, use, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(use(number, answer(number))) == 0

    assert "all 6 tokens of yours are what the right model says" in capsys.readouterr().out


def test_wrong_answer_is_run_whole_and_its_flaw_is_found(
    use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "llama.py"
    code = answer(1).read_text()
    file.write_text(f"{code}\n\ndef apply_rope(x, positions, theta):\n    return x\n")

    assert main(use(1, file)) == 1

    assert "they part at new token" in capsys.readouterr().out


def test_exception_is_shown_from_the_students_first_line_on(
    use, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(use(1, ROOT / "labs" / "01_llama" / "llama.py")) == 1

    said = capsys.readouterr().err
    assert "NotImplementedError: engine" in said
    assert "labs/run.py" not in said


def test_text_that_ends_too_soon_is_a_flaw(
    use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "llama.py"
    code = answer(1).read_text()
    short = "Engine.generate = lambda self, prompt, most, old=Engine.generate: old(self, prompt, 3)"
    file.write_text(f"{code}\n\n{short}\n")

    assert main(use(1, file)) == 1

    assert "yours says the end" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["3", "nine", "99", "", "-1"])
def test_lab_without_a_model_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([text]) == 2

    assert "labs 1, 2, 5, 11, 12 do" in capsys.readouterr().err


def test_what_runs_a_lab_without_a_model_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["10"]) == main(["6"]) == 2

    first, second = capsys.readouterr().err.splitlines()
    assert "make speculate" in first
    assert "make chat" in second


def test_lab_is_named_as_everywhere() -> None:
    assert student_file("1") == student_file("01") == student_file("01_llama")
