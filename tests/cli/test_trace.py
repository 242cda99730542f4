"""`lab trace`: the examples of the labs run on right answers, and what is asked for is written."""

from pathlib import Path

import pytest

from grader import ROOT
from grader.__main__ import main
from grader.cli.kernels.trace import Wish, show
from grader.labs.lab import all_labs

EXAMPLES = [
    pytest.param(lab.number, task.id, id=f"{lab.topic}-{task.id}")
    for lab in all_labs(ROOT)
    for task in lab.tasks
    if task.example
]


def test_each_lab_with_kernels_has_examples() -> None:
    labs = {lab.number for lab in all_labs(ROOT) if "triton" in lab.imports}

    assert {item.values[0] for item in EXAMPLES} == labs


@pytest.mark.in_turn
@pytest.mark.parametrize(("number", "task"), EXAMPLES)
def test_the_example_of_a_task_launches_kernels(
    number: int, task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solution = next((ROOT / "solutions").glob(f"{number:02d}_*"))
    files = tmp_path / "out.svg", tmp_path / "out.html"

    code = show(Wish(str(number), task, solution, None, 1, *files))

    assert code == 0
    told = capsys.readouterr().out
    assert "launch 1: " in told
    assert "  program " in told
    assert " outside of every tensor" not in told
    assert "error" not in told
    assert files[0].read_text().startswith("<svg")
    assert files[1].stat().st_size < 2 << 20


def test_a_script_is_traced_up_to_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "mine.py"
    kernels = ROOT / "tests" / "stand_ins" / "traced_kernels.py"
    script.write_text(kernels.read_text() + "\nrun_double()\nrun_fails()\n")
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"
    named = ["--svg", str(svg), "--html", str(html)]

    code = main(["trace", "6", "--file", str(script), "--launch", "2", *named])

    assert code == 1
    assert "error: line " in capsys.readouterr().out
    assert "fails[(3,)]" in svg.read_text()
    assert "ValueError" in svg.read_text()
    assert "double[(2, 2)]" in html.read_text()


def test_a_stub_says_that_it_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "6", "--from", str(ROOT / "labs" / "06_layernorm")]) == 1

    told = capsys.readouterr().out
    assert "NotImplementedError: forward: layer_norm_forward" in told
    assert "no kernel was launched before that" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["6", "--task", "speed"], "these have: forward, backward"),
        (["6", "--task", "speeed"], "has no task"),
        (["1"], "lab 1 has no kernels to trace"),
        (["6", "--file", "nowhere.py"], "nowhere.py is no file"),
    ],
)
def test_what_cannot_be_traced_is_a_usage_error(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *words]) == 2

    assert says in capsys.readouterr().err
