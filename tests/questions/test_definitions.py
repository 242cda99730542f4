"""``questions.toml``: what is read, and the line that each mistake of an author's gets."""

from pathlib import Path

import pytest

from grader.errors import LabError
from grader.labs.translations import questions as translations
from grader.questions.definitions import in_chinese, questions_of, read_questions
from grader.questions.question import Kind

ENGLISH = """
[[questions]]
id = "min_p_leaves"
kind = "number"
asks = "The best token has probability {best}, min_p is {p}. How many tokens stay at most?"
unit = "tokens"
tolerance = 0
[questions.draws]
best = [0.8, 0.9, 0.95]
p = { from = 0.05, to = 0.2, step = 0.05 }

[[questions]]
id = "commutes"
kind = "choice"
asks = "Which filter commutes with temperature? {{}} stays."
options = ["top_k", "top_p", "none of them"]

[[questions]]
id = "blocks_needed"
kind = "program"
asks = "How many blocks?"
signature = "blocks_needed(lengths, block_size)"
"""
CHINESE = """
[[questions]]
id = "min_p_leaves"
kind = "number"
asks = "最大概率为 {best}，min_p 为 {p}。最多剩下几个 token？"
unit = "个"
tolerance = 0
[questions.draws]
best = [0.8, 0.9, 0.95]
p = { from = 0.05, to = 0.2, step = 0.05 }

[[questions]]
id = "commutes"
kind = "choice"
asks = "哪种过滤与温度可交换？{{}}"
options = ["top_k", "top_p", "都不"]

[[questions]]
id = "blocks_needed"
kind = "program"
asks = "需要多少块？"
signature = "blocks_needed(lengths, block_size)"
"""


def test_all_that_an_author_writes_is_read() -> None:
    number, choice, program = questions_of(ENGLISH, "questions.toml")

    assert (number.kind, number.unit, number.tolerance) == (Kind.NUMBER, "tokens", 0)
    assert number.draws == {"best": (0.8, 0.9, 0.95), "p": (0.05, 0.1, 0.15, 0.2)}
    assert choice.options == ("top_k", "top_p", "none of them")
    assert (program.function, program.parameters) == ("blocks_needed", ("lengths", "block_size"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "number"', 'kind = "numbr"', "question min_p_leaves.kind: must be number or"),
        ('unit = "tokens"', "units = 1", "question min_p_leaves.units: is no key"),
        ("tolerance = 0\n", "tolerance = -1\n", "question min_p_leaves.tolerance: must be a num"),
        ("[0.8, 0.9, 0.95]", "[0.8]", "question min_p_leaves.draws.best: must be 2 to 1000"),
        ("[0.8, 0.9, 0.95]", "[0.8, 0.8]", "draws.best: holds 0.8 twice"),
        ("[0.8, 0.9, 0.95]", "[0.8, true]", "draws.best: must hold numbers or strings"),
        ("[0.8, 0.9, 0.95]", "3", "draws.best: must be a list or"),
        ("from = 0.05", "start = 0.05", "draws.p.start: is no key of a range"),
        ("step = 0.05", "step = 0", "draws.p.step: must be above 0"),
        ("to = 0.2", "to = 1e12", "draws.p: must be 2 to 1000 values"),
        ("{best}", "{worst}", "question min_p_leaves.asks: {worst} is drawn nowhere"),
        ("min_p is {p}", "min_p is 1", "question min_p_leaves.draws.p: is not used"),
        ('id = "commutes"', 'id = "min_p_leaves"', "is the id of two questions"),
        ('id = "commutes"', 'id = "Commutes"', "questions[2].id: must be a name in snake case"),
        ('id = "commutes"', "", "questions[2].id: is missing"),
        ('"top_k", "top_p"', '"a", "top_p"', "question commutes.options: 'a' is a single letter"),
        ('["top_k", "top_p", "none of them"]', '["top_k"]', "commutes.options: must be 2 to"),
        ("(lengths, block_size)", "(lengths=1)", "question blocks_needed.signature: must be as"),
        ("(lengths, block_size)", "", "question blocks_needed.signature: must be as"),
        ('asks = "How many blocks?"', "", "question blocks_needed.asks: is missing"),
    ],
)
def test_a_mistake_is_told_in_a_line_with_file_and_question(old: str, new: str, says: str) -> None:
    assert old in ENGLISH

    with pytest.raises(LabError) as told:
        questions_of(ENGLISH.replace(old, new, 1), "labs/03_x/questions.toml")

    assert told.value.message.startswith("labs/03_x/questions.toml: ")
    assert says in told.value.message
    assert "\n" not in told.value.message


@pytest.mark.parametrize("text", ["[[questions]", "questions = 1", "", "x = " + "[" * 9000])
def test_what_is_no_list_of_questions_is_told(text: str) -> None:
    with pytest.raises(LabError, match=r"questions\.toml"):
        questions_of(text, "questions.toml")


def test_a_folder_without_questions_has_none(tmp_path: Path) -> None:
    assert read_questions(tmp_path) == ()


def test_in_chinese_the_words_alone_differ(tmp_path: Path) -> None:
    (tmp_path / "questions.toml").write_text(ENGLISH)
    (tmp_path / "questions.zh.toml").write_text(CHINESE)
    english = read_questions(tmp_path)

    chinese = in_chinese(tmp_path, english)

    assert [item.id for item in chinese] == [item.id for item in english]
    assert chinese[0].unit == "个"
    assert chinese[0].draws == english[0].draws
    assert chinese[1].options[2] == "都不"


def test_a_translation_names_what_it_translates() -> None:
    stamped = translations.stamped(ENGLISH, CHINESE)

    assert translations.problems(ENGLISH, stamped) == []
    assert translations.told(stamped) == CHINESE
    assert [item.is_stale for item in translations.problems(ENGLISH, CHINESE)] == [True]
    changed = ENGLISH.replace("at most?", "at least?")
    assert [item.is_stale for item in translations.problems(changed, stamped)] == [True]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[0.8, 0.9, 0.95]", "[0.8, 0.9]", "min_p_leaves: is not the same question"),
        ('"都不"]', '"都不", "全都"]', "commutes: has 4 options, not 3"),
        ('unit = "个"\n', "", "min_p_leaves: must have a unit in both"),
        ('id = "commutes"', 'id = "commute"', "must ask in this order: min_p_leaves, commutes"),
        ("哪种", "{x}", "{x} is drawn nowhere"),
    ],
)
def test_a_translation_that_asks_otherwise_is_told(old: str, new: str, says: str) -> None:
    stamped = translations.stamped(ENGLISH, CHINESE.replace(old, new, 1))

    assert says in "; ".join(map(str, translations.problems(ENGLISH, stamped)))
