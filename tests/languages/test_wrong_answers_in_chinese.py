"""What one who reads Chinese is told of wrong answers: no line has English that is prose."""

import ast
from pathlib import Path

import pytest
from run_chinese import main
from stand_ins.english import english_in

from grader import ROOT


@pytest.mark.parametrize(
    ("lab", "answer"),
    [
        ("1", "wrong/norm_subtracts_mean"),
        ("3", "wrong/min_p_is_absolute"),
        ("6", "wrong/weight_read_one_column_too_far"),
    ],
)
def test_report_of_a_wrong_answer_is_in_chinese(
    lab: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([lab, "--only", answer, "--print"])

    printed = capsys.readouterr().out
    assert "1 reports, 0 runs of English" in printed
    assert "契约" in printed
    assert status == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("结果：4 个值中有 1 个不对", []),
        ("contract 5: the result has x's dtype", ["the result has x's dtype"]),
        ("第 3 行：for each token in the prompt", []),
        ("  调用：norm(list of five ints here)", []),
        ("ValueError: this is what the student says", []),
        ("请用 make grade LAB=1 FROM=here 再评", []),
        ("KV cache 的 block token rank kernel", []),
        ("it is 3 of them", []),
    ],
)
def test_english_is_told_from_code_and_names(text: str, found: list[str]) -> None:
    assert [*english_in(text)] == found


SUITES = [*ROOT.glob("grader/suites/test_*.py"), *ROOT.glob("labs/[0-9]*/test_*.py")]


@pytest.mark.parametrize("file", SUITES, ids=lambda file: file.stem)
def test_first_line_of_every_test_says_its_contract(file: Path) -> None:
    """So that line alone is left out where the contract is told in Chinese."""
    tests = [
        node
        for node in ast.parse(file.read_bytes()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]

    assert tests
    assert [node.name for node in tests if not ast.get_docstring(node)] == []
