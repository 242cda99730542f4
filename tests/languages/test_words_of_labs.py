"""What each lab says of itself: with a Chinese handout, all of it is in Chinese too."""

import pytest

from grader import ROOT
from grader.labs.lab import lab_names, load_lab
from grader.labs.translations.rules import lacking, problems_of
from grader.languages.curriculum import WORDS, words_of

IN_CHINESE = [name for name in lab_names(ROOT) if (ROOT / "labs" / name / "README.zh.md").is_file()]


@pytest.mark.parametrize("name", IN_CHINESE)
def test_titles_hints_and_reasons_are_told_in_chinese(name: str) -> None:
    lab = load_lab(ROOT / "labs" / name)

    assert lacking(lab) == ""
    assert dict(problems_of(lab))[lab.folder / WORDS] == []


@pytest.mark.parametrize("name", IN_CHINESE)
def test_every_contract_is_told_by_the_handouts(name: str) -> None:
    lab = load_lab(ROOT / "labs" / name)
    says = [contract.says for task in lab.tasks for contract in task.contracts]

    assert [text for text in says if text not in words_of(ROOT)] == []
