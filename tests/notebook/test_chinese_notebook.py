"""A notebook in Chinese: out of the translated handout, with the student's files as they are."""

import re
from pathlib import Path

import pytest
from stand_ins.filled import copied

from grader import ROOT
from grader.labs.lab import PSEUDOCODE, Lab, all_labs, find_lab
from grader.labs.translations.files import translation
from grader.languages.language import Language, speaking

pytest.importorskip("nbformat", reason="needs the extra [notebook]")

from grader.notebook.build import build
from grader.notebook.files import write_notebook
from grader.notebook.handout import described, read_handout
from grader.notebook.work import Work

TRANSLATED = [
    lab for lab in all_labs(ROOT) if not lab.is_manual and translation(lab.handout).is_file()
]
HAN = re.compile("[\u4e00-\u9fff]")


def sources(lab: Lab, language: Language) -> dict[str, str]:
    """The cells of a lab's notebook by their ids."""
    with speaking(language):
        return {cell.id: cell.source for cell in build(lab, Work(lab).parts()).cells}


@pytest.mark.parametrize("lab", TRANSLATED, ids=lambda lab: lab.name)
def test_chinese_notebook_has_the_cells_of_the_english_and_prompts_beside(lab: Lab) -> None:
    english, chinese = (sources(lab, language) for language in Language)

    asked = {name for name in chinese if name.startswith("prompt-")}
    assert [name for name in chinese if name not in asked] == [*english]
    assert asked == {f"prompt-{t.id.replace('_', '-')}" for t in lab.tasks if t.id != PSEUDOCODE}
    assert all(HAN.search(chinese[name]) for name in asked)
    assert all(HAN.search(text) for name, text in chinese.items() if name.startswith("handout"))


@pytest.mark.parametrize("lab", TRANSLATED, ids=lambda lab: lab.name)
def test_code_and_answers_are_the_students_own(lab: Lab) -> None:
    english, chinese = (sources(lab, language) for language in Language)

    kept = ("task-", "check-", "pseudocode-", "picture-", "setup", "submit", "grade")
    assert [chinese[name] for name in english if name.startswith(kept)] == [
        english[name] for name in english if name.startswith(kept)
    ]


@pytest.mark.parametrize("lab", TRANSLATED, ids=lambda lab: lab.name)
def test_both_handouts_are_cut_into_the_same_tasks(lab: Lab) -> None:
    english = read_handout(lab)
    with speaking(Language.CHINESE):
        chinese = read_handout(lab)

    text = "\n".join([chinese.before, *chinese.tasks.values(), chinese.after])
    assert [*chinese.tasks] == [*english.tasks]
    assert bool(chinese.after) == bool(english.after)
    assert not re.search(r"^## (?:运行|提交|伪代码)|<!--", text, re.MULTILINE)
    assert len(re.findall("^## ", text, re.MULTILINE)) == len(
        re.findall(
            "^## ",
            "\n".join([english.before, *english.tasks.values(), english.after]),
            re.MULTILINE,
        )
    )


def test_a_course_published_in_chinese_needs_no_language(tmp_path: Path) -> None:
    lab = find_lab("2", copied(ROOT, tmp_path, hidden=False))
    translation(lab.handout).replace(lab.handout)
    translation(lab.pseudocode).replace(lab.pseudocode)

    cells = sources(lab, Language.ENGLISH)

    assert cells["handout-mask"].startswith("## 任务 2：")
    assert "不变式" in cells["pseudocode-mask"]
    assert "prompt-mask" not in cells
    assert not any(text.startswith("## 运行") for text in cells.values())


def test_a_stale_section_says_so(tmp_path: Path) -> None:
    lab = find_lab("2", copied(ROOT, tmp_path, hidden=False))
    english = lab.handout.read_text("utf-8")
    lab.handout.write_text(english.replace("## Task 2", "A sentence more.\n\n## Task 2"), "utf-8")

    cells = sources(lab, Language.CHINESE)

    assert "译文可能已过时" in cells["handout-pad"]
    assert "译文可能已过时" not in cells["handout-mask"]


def test_a_lab_in_english_only_gets_an_english_notebook(tmp_path: Path) -> None:
    lab = find_lab("2", copied(ROOT, tmp_path, hidden=False))
    for page in (lab.handout, lab.pseudocode):
        translation(page).unlink()

    cells = sources(lab, Language.CHINESE)

    assert cells["handout-mask"].startswith("## Task 2")
    assert "prompt-mask" not in cells


def test_writing_it_again_changes_no_file_and_no_cell(tmp_path: Path) -> None:
    lab = find_lab("2", copied(ROOT, tmp_path, hidden=False))
    prompts = lab.pseudocode.read_bytes()
    with speaking(Language.CHINESE):
        first = write_notebook(lab, lambda part: "")
        before = first.file.read_bytes()
        again = write_notebook(lab, lambda part: "")

    assert again.lines == ()
    assert (first.file.read_bytes(), lab.pseudocode.read_bytes()) == (before, prompts)


def test_a_task_without_a_part_in_the_handout_is_described_in_chinese() -> None:
    task = find_lab("1", ROOT).tasks[0]
    with speaking(Language.CHINESE):
        text = described(task)

    assert f"{task.points:g} 分" in text
    assert "成立的内容" in text
