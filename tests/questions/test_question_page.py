"""``QUESTIONS.md``: written around what was typed, read by its headings."""

from pathlib import Path

import pytest
from stand_ins.asking import ENGLISH, asking_lab

from grader import ROOT
from grader.cli.handing import questions as command
from grader.cli.handing.questions import Wish, write_page
from grader.errors import UsageError
from grader.labs.lab import Lab, load_lab
from grader.languages.language import Language, speaking
from grader.questions.definitions import read_questions
from grader.questions.page import is_answered, read_page

IDS = ("min_p_leaves", "commutes")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(command, "find_root", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return asking_lab(tmp_path, load_lab(ROOT / "labs" / "03_sampling"))


@pytest.fixture
def page(lab: Lab) -> Path:
    write_page(Wish("3", "ada"))
    return lab.folder / "QUESTIONS.md"


def type_in(page: Path, id: str, text: str) -> None:
    head, _, rest = page.read_text(encoding="utf-8").partition(f"## {id}\n")
    quoted, _, after = rest.partition("Answer:")
    page.write_text(f"{head}## {id}\n{quoted}Answer:{text}{after}", encoding="utf-8")


def test_a_new_page_asks_everything_and_answers_nothing(lab: Lab, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    ids = [question.id for question in read_questions(lab.folder)]

    read = read_page(page.read_bytes(), ids)

    assert "drawn for: `ada`" in text
    assert [part.id for part in read.parts] == ids
    assert {*read.answers.values()} == {""}
    assert not is_answered(page.read_bytes())


def test_run_again_it_keeps_each_answer_and_changes_no_byte(page: Path) -> None:
    type_in(page, "min_p_leaves", " 12 tokens")
    code = "def kept(probabilities, p):\n    ## a comment\n    return 1"
    type_in(page, "kept", f"\n\n```python\n{code}\n```")
    before = page.read_bytes()

    write_page(Wish("3"))

    assert page.read_bytes() == before
    answers = read_page(before, ("min_p_leaves", "kept")).answers
    assert answers["min_p_leaves"] == "12 tokens"
    assert "## a comment" in answers["kept"]
    assert is_answered(before)


def test_another_language_keeps_what_was_typed(page: Path) -> None:
    type_in(page, "commutes", "\nb\n\nsince it keeps the ranking")
    with speaking(Language.CHINESE):
        write_page(Wish("3"))
    text = page.read_text(encoding="utf-8")

    assert "哪种过滤与温度可交换？" in text
    assert "Which filter" not in text
    assert "\nb\n\nsince it keeps the ranking" in text


def test_new_questions_are_added_and_old_answers_stay(lab: Lab, page: Path) -> None:
    type_in(page, "commutes", " c")
    type_in(page, "usual_order", " a > b > c > d")
    first, *others = ENGLISH.split("\n\n[[")
    less = "\n\n[[".join([first, *(part for part in others if '"usual_order"' not in part)])
    new = '\n[[questions]]\nid = "fresh"\nkind = "number"\nasks = "How many?"\n'
    (lab.folder / "questions.toml").write_text(less + new, encoding="utf-8")

    write_page(Wish("3"))

    read = read_page(page.read_bytes(), ("commutes", "fresh", "usual_order"))
    assert read.answers == {"commutes": "c", "fresh": "", "usual_order": "a > b > c > d"}


def test_a_question_that_is_worded_anew_loses_no_line(lab: Lab, page: Path) -> None:
    type_in(page, "commutes", " c")
    before = page.read_text(encoding="utf-8").splitlines()
    text = ENGLISH.replace("Which filter commutes", "Which of these commutes")
    (lab.folder / "questions.toml").write_text(text, encoding="utf-8")

    write_page(Wish("3"))

    after = page.read_text(encoding="utf-8").splitlines()
    assert "> Which of these commutes with temperature?" in after
    assert {*before} <= {*after}
    assert read_page(page.read_bytes(), ("commutes",)).answers["commutes"] == "c"


def test_a_page_of_another_student_is_not_written_over(page: Path) -> None:
    before = page.read_bytes()

    with pytest.raises(UsageError, match="was drawn for ada"):
        write_page(Wish("3", "bob"))
    write_page(Wish("3", " ADA "))

    assert page.read_bytes() == before


def test_without_an_id_nothing_is_written(lab: Lab) -> None:
    with pytest.raises(UsageError, match="your id in the course") as told:
        write_page(Wish("3"))

    assert "--student ID" in told.value.hint
    assert not (lab.folder / "QUESTIONS.md").exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("drawn for: `ada`", "for ada", "line 1: does not say for whom"),
        ("drawn for: `ada`", "drawn for: `ada`\ndrawn for: `bob`", "line 3: says for two students"),
        ("## commutes", "## min_p_leaves", "has min_p_leaves a second time, as line"),
        ("Answer:", "\udcff", "is no UTF-8"),
        ("Answer:", "\0", "holds a zero byte"),
    ],
)
def test_a_broken_page_is_told_by_its_line(page: Path, old: str, new: str, says: str) -> None:
    text = page.read_text(encoding="utf-8")
    broken = text.replace(old, new, 1).encode("utf-8", "surrogateescape")
    page.write_bytes(broken)

    with pytest.raises(UsageError, match=r"QUESTIONS\.md, line \d+: ") as told:
        write_page(Wish("3"))

    assert says in told.value.message
    assert page.read_bytes() == broken


def test_a_chinese_page_is_read_the_same(lab: Lab) -> None:
    with speaking(Language.CHINESE):
        write_page(Wish("3", "ada"))
    content = (lab.folder / "QUESTIONS.md").read_bytes()

    assert read_page(content, IDS).student == "ada"
    assert read_page(content.replace("回答:".encode(), "答：12".encode(), 1), IDS).answers == {
        "min_p_leaves": "12",
        "commutes": "",
    }
