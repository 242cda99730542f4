"""``lab check`` proves questions: what does not hold is told in a line."""

import time
from pathlib import Path

import pytest
from stand_ins.asking import asking_lab

from grader import ROOT
from grader.labs.lab import Lab, load_lab
from grader.questions.proof import prove


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return asking_lab(tmp_path, load_lab(ROOT / "labs" / "03_sampling"))


def told(lab: Lab) -> str:
    return "\n".join(f"{item.what}: {item.problem}" for item in prove(lab) if item.problem)


def test_questions_with_right_and_wrong_answers_are_proven_in_no_time(lab: Lab) -> None:
    began = time.process_time()
    found = [*prove(lab)]

    assert [item.problem for item in found] == [""] * 8
    assert time.process_time() - began < 2


def test_a_lab_without_questions_has_nothing_to_prove(tmp_path: Path, lab: Lab) -> None:
    (lab.folder / "questions.toml").unlink()
    (lab.solutions / "questions.py").unlink()

    assert [*prove(lab)] == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("int(1 / p) + 1", "min_p_leaves(best, p)", "min_p_leaves is proven: WRONG"),
        ('"1000"', '"many"', "WRONG 'many' is judged cannot be read"),
        ('"top_p", "none of them"]', '"top_k"]', "commutes is proven: WRONG 'top_k' is judged ri"),
        ('["`top_k`"]', '["top_p"]', "commutes is proven: RIGHT 'top_p' is judged wrong"),
        ('return "top_k"', 'return "topk"', "commutes is proven: its function raises ValueError"),
        ("def commutes", "def commuting", "no function answers commutes; commuting answers no qu"),
        ("    return rows, tokens, 512", "    return rows / 0", "raises ZeroDivisionError"),
        ("(rows: int, tokens: int)", "(rows: int)", "takes (rows), not (rows, tokens)"),
        ('    """The bar is p of the best."""\n', "", "kept is proven: its function has no docst"),
        ('"rows * beams * vocabulary", ', "", "RIGHT has 1 ways to type it, fewer than 2"),
        ('"rows * beams * vocabulary"', '"rows * beams"', "RIGHT 'rows * beams' is judged wrong"),
        ('"(512,)"]', "]", "WRONG has 1 answers to it, fewer than 2"),
        ('CASES = {"kept"', 'CASES = {"kapt"', "CASES names kapt, which is no question"),
        ("RIGHT = {", "RIGHT = 3 + {", "cannot be run: TypeError"),
        ("WRONG = {", 'WRONG = {"x": 1,', "WRONG must hold a list for each id"),
    ],
)
def test_what_does_not_hold_is_told(lab: Lab, old: str, new: str, says: str) -> None:
    file = lab.solutions / "questions.py"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")

    assert says in told(lab)


def test_questions_without_answers_fail(lab: Lab) -> None:
    (lab.solutions / "questions.py").unlink()

    assert "there is no solutions/03_sampling/questions.py" in told(lab)


def test_answers_without_questions_fail(lab: Lab) -> None:
    (lab.folder / "questions.toml").unlink()

    assert "there is no labs/03_sampling/questions.toml that it answers" in told(lab)


def test_a_broken_file_of_questions_is_told(lab: Lab) -> None:
    (lab.folder / "questions.toml").write_text("[[questions]]\nid = 1\n", encoding="utf-8")

    assert "labs/03_sampling/questions.toml: questions[1].id: must be a string" in told(lab)
