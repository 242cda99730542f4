"""Messages in the language of the reader: sentences of a catalogue, held against what was said."""

import re
import time
from pathlib import Path

import pytest
from babel.messages.pofile import read_po as read_by_babel
from stand_ins.messages import SOURCES_OF, messages, places, problems, wanted

from grader import ROOT
from grader.languages.catalogue import Catalogue
from grader.languages.curriculum import words_of
from grader.languages.language import (
    Language,
    labelled,
    of_header,
    of_locale,
    said,
    say,
    speaking,
    spoken,
)
from grader.languages.po import read_po

SENTENCES = Catalogue(
    {
        "passed": "通过",
        "{what} has shape {list}, expected {list2}": "{what:say}的形状为 {list}，应为 {list2}",
        "{count} of {size} values of {what} are wrong, at {first}": (
            "{what:say}：{size} 个值中的 {count} 个不对，位于 {first}"
        ),
        "{count} of {numel} values": "{numel} 个值中的 {count} 个",
        "{count} of {total}": "{count} / {total}",
        "{what} was modified{beside}": "{what:say}被修改了{beside:say}",
        ", or memory beside it": "，或旁边的内存",
        "the error is {size}{scale}, at {at}": "误差为 {size}{scale:say}，位于 {at}",
        ", {times} times the size": "，是大小的 {times} 倍",
        "the result": "结果",
        "  line {line}: {source}": "  第 {line} 行：{source}",
    }
)


@pytest.mark.parametrize("catalogue", SOURCES_OF, ids=lambda file: str(file.relative_to(ROOT)))
def test_catalogue_is_complete(catalogue: Path) -> None:
    assert problems(catalogue) == []


@pytest.mark.parametrize("catalogue", SOURCES_OF, ids=lambda file: str(file.relative_to(ROOT)))
def test_own_reader_of_catalogues_finds_what_babel_finds(catalogue: Path) -> None:
    with catalogue.open("rb") as file:
        entries = {str(item.id): str(item.string) for item in read_by_babel(file) if item.id}

    assert read_po(catalogue) == entries


def filled(text: str, values: dict[str, str]) -> str:
    """Put something into the places of a sentence, the same in all with the same name."""

    def value(place: re.Match[str]) -> str:
        of_number = place[1].startswith(("count", "get", "most", "now", "total"))
        if place[1] == "verb":
            return "is"
        return values.setdefault(place[1], f"{len(values) + 3}" if of_number else f"§{len(values)}")

    told = re.sub(r"(?<!\{)\{([a-z_0-9]*)(?::say|:each)?\}", value, text)
    return told.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("catalogue", SOURCES_OF, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_message_is_known_again_by_its_own_sentence(catalogue: Path) -> None:
    pairs = read_po(catalogue)
    strange: list[tuple[str, str]] = []

    for text in wanted(catalogue):
        values: dict[str, str] = {}
        with speaking(Language.CHINESE):
            told = say(filled(text, values))
        due = filled(pairs[text], values)
        # What touches in English is told apart by what it says, and here it says nothing.
        if "}{" not in text and re.sub(r"[\s（）]", "", told) != re.sub(r"[\s（）]", "", due):
            strange.append((text, told))

    assert strange == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("passed", "通过"),
        ("the result has shape [2], expected [3]", "结果的形状为 [2]，应为 [3]"),
        ("keys have shape [2], expected [3]", "keys的形状为 [2]，应为 [3]"),
        ("3 of 4 values of the result are wrong, at [0]", "结果：4 个值中的 3 个不对，位于 [0]"),
        ("x was modified, or memory beside it", "x被修改了，或旁边的内存"),
        ("x was modified", "x被修改了"),
        ("the error is 0.5, 3 times the size, at [1]", "误差为 0.5，是大小的 3 倍，位于 [1]"),
        ("the error is 0.5, at [1]", "误差为 0.5，位于 [1]"),
        ("3 of 4", "3 / 4"),
        ("a row of zeros that is no multiple of two", "a row of zeros that is no multiple of two"),
        ("nobody knows this", "nobody knows this"),
        ("", ""),
    ],
)
def test_what_was_said_is_told_by_the_sentence_that_it_fits(text: str, told: str) -> None:
    assert SENTENCES.say(text) == told


def test_message_is_told_line_by_line() -> None:
    message = "the result has shape [2], expected [3]\n  line 3: x = y\nValueError: passed"

    assert SENTENCES.said(message) == (
        "结果的形状为 [2]，应为 [3]\n  第 3 行：x = y\nValueError: passed"
    )


def test_words_of_a_submission_are_left_as_they_are() -> None:
    assert SENTENCES.said("passed\n3 of 4") == "通过\n3 of 4"


@pytest.mark.parametrize("part", [" of ", ", expected ", ", or memory", " values of the result "])
def test_no_text_takes_long(part: str) -> None:
    begun = time.perf_counter()
    with speaking(Language.CHINESE):
        said("the result has shape " + part * 3000)

    assert time.perf_counter() - begun < 5.0


def test_english_is_said_as_it_is_written() -> None:
    assert spoken() is Language.ENGLISH
    assert say("timed out") == "timed out"
    assert labelled("hint", "x") == "hint: x"


def test_chinese_is_spoken_inside_alone() -> None:
    with speaking(Language.CHINESE):
        assert say("timed out") == "超时"
        assert labelled("hint", "x") == "提示：x"

    assert say("timed out") == "timed out"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "zha_CN"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_locale_says_the_language(environment: dict[str, str], language: str) -> None:
    assert of_locale(environment) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.8", "en"),
        ("de, zh;q=0.5, en;q=0.4", "zh"),
        ("zh;q=0", "en"),
        ("*, zh;q=0.5", "en"),
        ("zh;q=nan, en;q=0.1", "en"),
        ("zhuang", "en"),
    ],
)
def test_browser_says_the_language(header: str, language: str) -> None:
    assert of_header(header) == language


def test_contracts_are_told_by_the_rows_of_both_handouts(tmp_path: Path) -> None:
    folder = tmp_path / "labs" / "01_a"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("| 1 | `x` is new |\n| 2 | T > S raises |\n")
    (folder / "README.zh.md").write_text("| 1 | `x` 是新的 |\n| 2 | T > S 抛出异常 |\n")
    (folder / "lab.zh.po").write_text('msgid "The model"\nmsgstr "模型"\n')

    assert words_of(tmp_path) == {
        "x is new": "x 是新的",
        "T > S raises": "T > S 抛出异常",
        "The model": "模型",
    }
    (folder / "README.zh.md").write_text("| 1 | `x` 是新的 |\n")
    assert words_of(tmp_path) == {"The model": "模型"}


def test_messages_are_found_in_sources(tmp_path: Path) -> None:
    file = tmp_path / "source.py"
    file.write_text(
        '"""Not this one, a docstring."""\n'
        "import re\n"
        "PATTERN = re.compile('not this either')\n"
        "def f(x, what):\n"
        "    say('passed')\n"
        "    y = 'word'\n"
        "    raise Mismatch(f\"{agreeing(what, 'has')} {len(x)} of {len(y)} {x.shape} values\")\n"
    )

    assert messages(file) == ["passed", "{what} has {count} of {count2} {shape} values"]


def test_places_of_a_translation_are_those_that_it_says_too() -> None:
    assert places("{a} and {b:say} {{c}}").keys() == {"a", "b"}


def test_fuzzy_and_empty_entries_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "zh.po"
    file.write_text(
        '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr ""\n\nmsgid "d"\nmsgstr "e"\n'
    )

    assert read_po(file) == {"d": "e"}
    assert read_po(tmp_path / "none.po") == {}
