"""`make run`: the student's own engine beside the right model."""

from pathlib import Path

import pytest

from grader.prove.answers.edits import build
from labs import run
from labs.run import main, student_file

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = sorted(run.ENGINES)
ZEROS_FOR_THE_FIRST = """

def paged_attention_torch(q, *others, right=paged_attention_torch):
    o = right(q, *others)
    if len(q) == 3:
        o[0] = 0
    return o
"""
ARGUMENTS = ["def main(", "--max-new-tokens", "6"]


def answer(number: int) -> Path:
    (folder,) = (ROOT / "solutions").glob(f"{number:02}_*")
    return folder / f"{folder.name[3:]}.py"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):  # a function that puts a file in the student's place
    def put(number: int, file: Path) -> list[str]:
        monkeypatch.setattr(run, "student_file", lambda _: (number, file))
        # Lab 11 compiles: in the smaller model that takes a quarter of the time.
        model = ["--model", str(ROOT / "labs" / "checkpoints" / "draft")] if number == 11 else []
        return [str(number), *ARGUMENTS, *model]

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


def wrong(number: int, name: str, place: Path) -> Path:
    right = answer(number)
    file = place / right.parent.name / right.name
    file.parent.mkdir()
    file.write_text(build(right.parent / "wrong" / f"{name}.py"))
    return file


def test_graphs_and_replays_of_lab_11_are_told(use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(use(11, answer(11))) == 0

    out = capsys.readouterr().out
    assert "generate: 2 graphs compiled, calls of each: 1, 5\n" in out
    assert "GraphRunner: 11 replays for 11 tokens, of graphs for [1, 2] rows; it says" in out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("position_as_an_int", "3 graphs compiled, calls of each: 1, 1, 4; two would do"),
        ("returns_the_static_output", "; but from new token 0 on it says others"),
    ],
)
def test_flaw_behind_a_right_text_of_lab_11_is_told(
    name: str, told: str, use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(use(11, wrong(11, name, tmp_path))) == 0

    assert told in capsys.readouterr().out


def test_steps_of_lab_12_are_drawn(use, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*use(12, answer(12))[:2], "--max-new-tokens", "40"]) == 0

    out = capsys.readouterr().out
    assert "  text 2  ▓█" in out
    assert "  text 4  ····" in out  # there are three rows
    assert "✗ has to go" in out  # and too few blocks
    assert "leaves what the model says" not in out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("preempted_lose_their_output", "] with table ["),
        ("one_too_many_run", "plan() gave 4 rows, max_running is 3"),
        ("takes_blocks_before_it_counts", "plan() has no rows, but requests have not ended: 0,"),
    ],
)
def test_plan_of_lab_12_that_cannot_be_is_told(
    name: str, told: str, use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*use(12, wrong(12, name, tmp_path))[:2], "--max-new-tokens", "40"]) == 1

    said = capsys.readouterr().err
    assert said.startswith("yours:\nerror: your scheduler (lab 12): plan() ")
    assert told in said


def test_wrong_text_beside_the_prompts_is_told(
    use, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "paged.py"
    file.write_text(answer(12).read_text() + ZEROS_FOR_THE_FIRST)

    main(use(12, file))

    out = capsys.readouterr().out
    assert "  text 1 leaves what the model says at new token" in out
    assert "  text 2 leaves" not in out


@pytest.mark.parametrize("number", [11, 12])
def test_unwritten_class_of_the_last_labs_is_shown(
    number: int, use, capsys: pytest.CaptureFixture[str]
) -> None:
    (stub,) = (ROOT / "labs").glob(f"{number}_*/{answer(number).name}")

    assert main(use(number, stub)) == 1

    said = capsys.readouterr().err
    assert f'File "{stub}"' in said
    assert "NotImplementedError: " in said
    assert "serving.py" not in said


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
