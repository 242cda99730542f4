"""Chinese beside English: what is stale, missing or different is found, section by section."""

import hashlib
from pathlib import Path

import pytest

from grader import ROOT
from grader.cli.app import main
from grader.course.publishing.new import write_lab
from grader.errors import LabError
from grader.labs.lab import Lab, all_labs, find_lab
from grader.labs.translations import pages, sources, stubs
from grader.labs.translations.files import Pair, all_pairs, is_translation, translation
from grader.labs.translations.pages import STALE, UNMARKED
from grader.labs.translations.rules import problems_of, told
from grader.labs.translations.sections import sections
from grader.prove.check import check_translations
from grader.prove.files import check_files
from grader.prove.findings import Outcome

ENGLISH = """\
# Lab 01

Read 3 pages.

## Norm

Call `rms_norm(x, eps)` with $x_i^2$ of 16 [rows](common.md), as in

```python
y = norm(x)  # the mean
# not a heading
```

| 1 | `x | y` | what holds |

### Run it

make
"""
CHINESE = """\
# 实验 01

读 3 页。

## 归一化

对 16 [行](common.md) 中的 $x_i^2$ 调用
`rms_norm(x, eps)`：

```python
y = norm(x)  # 均值
# not a heading
```

| 1 | `x | y` | 成立的是 |

### 运行

make
"""
STAMPED = pages.stamped(ENGLISH, CHINESE)
STUB = '''"""Lab 01."""


def norm(x):  # [E]
    """Scale it."""
    raise NotImplementedError("norm: norm")
'''
STUB_ZH = (
    STUB.replace("Lab 01.", "实验 01。").replace("Scale it.", "缩放。").replace("[E]", "[E] 行")
)


def says(english: str, chinese: str) -> list[str]:
    return list(map(str, pages.problems(english, chinese)))


def test_stamped_translation_is_in_step() -> None:
    assert says(ENGLISH, STAMPED) == []


def test_changed_english_sentence_makes_its_section_stale() -> None:
    assert says(ENGLISH.replace("Read", "Skip"), STAMPED) == [f"`# 实验 01`: {STALE}"]


def test_change_of_english_white_space_at_ends_of_lines_is_none() -> None:
    assert says(ENGLISH.replace("pages.\n", "pages.  \n\n"), STAMPED) == []


def test_hash_is_that_of_the_english_lines() -> None:
    digest = hashlib.sha256(b"# Lab 01\n\nRead 3 pages.").hexdigest()

    assert STAMPED.split("\n")[1] == f"<!-- en: {digest[:12]} -->"


def test_translation_that_names_no_hash_is_told() -> None:
    assert says(ENGLISH, CHINESE) == [
        f"{name}: {UNMARKED}" for name in ("`# 实验 01`", "`## 归一化`", "`### 运行`")
    ]


def test_stamping_again_changes_nothing_else() -> None:
    again = pages.stamped(ENGLISH, pages.stamped(ENGLISH.replace("Read", "Skip"), CHINESE))

    assert again == STAMPED
    assert pages.told(ENGLISH, again) == CHINESE


def test_text_before_the_first_heading_is_a_section() -> None:
    english, chinese = f"Hello.\n\n{ENGLISH}", f"你好。\n\n{CHINESE}"
    stamped = pages.stamped(english, chinese)

    assert stamped.startswith("<!-- en: ")
    assert says(english, stamped) == []
    assert says(english.replace("Hello", "Bye"), stamped) == [
        f"the text before the first heading: {STALE}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("### 运行\n", "", "missing: `### Run it`"),
        ("### 运行", "## 运行", "`## 运行` is a heading of level 2, and `### Run it` one of 3"),
        ("make\n", "make\n# 更多\n", "not in the English: `# 更多`"),
        ("# 实验", "前言\n\n# 实验", "the text before the first heading is not in the English"),
    ],
)
def test_sections_that_differ_are_named(old: str, new: str, told: str) -> None:
    chinese = CHINESE.replace(old, new)

    assert says(ENGLISH, chinese) == [told]
    with pytest.raises(ValueError, match="^" + told[:9]):
        pages.stamped(ENGLISH, chinese)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("y = norm(x)", "y = norm(z)", "its fenced code is not that of the English"),
        ("rms_norm(x, eps)", "rms_norm(x)", "inline code"),
        ("x_i^2", "x_i^3", "formulas"),
        ("common.md", "other.md", "links"),
        ("16", "32", "numbers"),
        ("| 成立的是 |", "|", "columns of tables"),
    ],
)
def test_what_no_translation_changes_is_compared(old: str, new: str, told: str) -> None:
    problem = says(ENGLISH, STAMPED.replace(old, new))

    assert len(problem) == 1
    assert problem[0].startswith("`## 归一化`: ")
    assert told in problem[0]


def test_difference_says_what_is_lacking_and_what_is_too_much() -> None:
    (problem,) = says(ENGLISH, STAMPED.replace("读 3 页", "读 4 页"))

    assert problem == "`# 实验 01`: other numbers than in the English: lacks 3; has 4"


def test_link_may_lead_to_the_chinese_page() -> None:
    assert says(ENGLISH, STAMPED.replace("common.md", "common.zh.md")) == []


def test_page_made_from_a_stale_section_says_so() -> None:
    page = pages.told(ENGLISH.replace("Call", "Use"), STAMPED)

    parts = {section.heading: "\n".join(section.body) for section in sections(page)}
    assert [name for name, text in parts.items() if "可能已过时" in text] == ["## 归一化"]
    assert "<!--" not in page


def test_page_with_other_sections_than_the_english_says_so_at_its_top() -> None:
    page = pages.told(ENGLISH + "\n## More\n", STAMPED)

    assert "可能已过时" in page.split("\n")[0]
    assert page.endswith(CHINESE)


def test_stub_differs_in_docstrings_and_comments_only() -> None:
    stamped = stubs.stamped(STUB, STUB_ZH)

    assert stubs.problems(STUB, stamped) == []
    assert stubs.told(stamped) == STUB_ZH


@pytest.mark.parametrize(
    ("english", "chinese", "told"),
    [
        (STUB, STUB_ZH, UNMARKED),
        (STUB.replace("Scale", "Turn"), stubs.stamped(STUB, STUB_ZH), STALE),
        (STUB, stubs.stamped(STUB, STUB_ZH.replace("norm(x)", "norm(z)")), "its code is not"),
        (STUB, stubs.stamped(STUB, STUB_ZH.replace('"norm: norm"', '"归一化"')), "its code is not"),
        (STUB, "def (", "is no Python"),
    ],
)
def test_stub_that_is_not_the_english_one_is_told(english: str, chinese: str, told: str) -> None:
    (problem,) = stubs.problems(english, chinese)

    assert problem.says.startswith(told)


def test_translations_of_a_repository_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("README.md", "README.zh.md", "labs/a/a.zh.py", ".venv/x.zh.md", "docs/y.zh.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A\n")

    found = [str(pair.chinese.relative_to(tmp_path)) for pair in all_pairs(tmp_path)]

    assert found == ["README.zh.md", "docs/y.zh.md", "labs/a/a.zh.py"]


def test_translation_of_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "a.md", tmp_path / "a.zh.md")
    pair.chinese.write_text("# A\n")

    assert [str(problem) for problem in pair.problems()] == ["translates a.md, which is not there"]


def test_pair_is_stamped_in_place(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "a.md", tmp_path / "a.zh.md")
    pair.english.write_text(ENGLISH)
    pair.chinese.write_text(CHINESE)

    assert [pair.stamp(), pair.stamp()] == [True, False]
    assert pair.problems() == []


def test_what_cannot_be_stamped_is_an_error_with_a_hint(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "a.md", tmp_path / "a.zh.md")
    pair.english.write_text(ENGLISH)
    pair.chinese.write_text("# 实验\n")

    with pytest.raises(LabError, match="missing: `## Norm`") as raised:
        pair.stamp()
    assert raised.value.hint


def test_names_of_translations() -> None:
    assert translation(Path("labs/a.py")) == Path("labs/a.zh.py")
    assert is_translation("README.zh.md")
    assert not is_translation("README.md")
    assert not is_translation("zh.md")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A new lab whose handout is translated."""
    (tmp_path / "labs").mkdir()
    write_lab(tmp_path, "11_prefix_cache")
    found = find_lab("11", tmp_path)
    translation(found.handout).write_text(found.handout.read_text())
    assert Pair(found.handout, translation(found.handout)).stamp()
    return found


def held(lab: Lab) -> dict[str, str]:
    found = [item for item in check_translations(lab) if item.outcome is not Outcome.OK]
    return {f"{item.outcome} {item.file}": item.got for item in found}


def test_check_of_a_lab_fails_on_a_changed_english_sentence(lab: Lab) -> None:
    text = lab.handout.read_text()
    lab.handout.write_text(text.replace("own mean", "mean", 1))

    assert STALE in held(lab)["failed labs/11_prefix_cache/README.zh.md"]


def test_check_says_in_one_line_what_is_in_english_only(lab: Lab) -> None:
    assert held(lab) == {
        "warning labs/11_prefix_cache": "PSEUDOCODE.md, prefix_cache.py, lab.zh.po: in English only"
    }


def test_lab_in_one_language_is_no_failure(lab: Lab) -> None:
    translation(lab.handout).unlink()

    assert held(lab) == {"warning labs/11_prefix_cache": "the lab is in English only"}


def test_translations_are_no_stray_files(lab: Lab) -> None:
    translation(lab.stub).write_text(stubs.stamped(lab.stub.read_text(), lab.stub.read_text()))

    failed = [item.rule for item in check_files(lab) if item.outcome is Outcome.FAILED]
    assert "no stray files" not in failed
    assert "failed labs/11_prefix_cache/prefix_cache.zh.py" not in held(lab)


def test_words_of_lab_toml_are_held_against_it(lab: Lab) -> None:
    (lab.folder / "lab.zh.po").write_text('msgid "gone"\nmsgstr "没了"\n')

    told = dict(problems_of(lab))[lab.folder / "lab.zh.po"]

    assert f"not translated: {lab.title}" in told
    assert told[-1] == "not in lab.toml: gone"


def test_words_of_the_labs_of_this_repository_are_complete() -> None:
    found = {file: told for lab in all_labs(ROOT) for file, told in problems_of(lab) if told}

    assert found == {}


def test_glossary_has_each_term_in_both_languages() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]

    assert len(rows) > 80
    assert [row for row in rows if len(row) != 4 or not all(map(str.strip, row))] == []


def test_hint_is_told_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hint", "1", "--lang", "zh"]) == 0

    out = capsys.readouterr().out
    assert "旋转位置编码" in out
    assert "10 分" in out


def test_command_stamps_and_lists(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.course.commands.translate.find_root", lambda: lab.root)
    lab.handout.write_text(lab.handout.read_text().replace("own mean", "mean"))

    assert main(["translate", "11"]) == 1
    assert STALE in capsys.readouterr().out
    assert main(["translate", "--stamp"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "stamped labs/11_prefix_cache/README.zh.md",
        "1 translated files, 0 of them not in step",
    ]


def test_translations_of_this_repository_are_in_step() -> None:
    found = {pair.chinese: told(pair) for pair in all_pairs(ROOT)}

    assert {file: problems for file, problems in found.items() if problems} == {}


SOURCE = '// Twice.\n#include <a.h>\nint f() { return g("//"); }  // what g gives\n'
IN_CHINESE = '// 两倍。\n#include <a.h>\n// g 给出的\nint f() { return g("//"); }\n'


def test_source_for_a_compiler_is_translated_in_its_comments_alone() -> None:
    stamped = sources.stamped(SOURCE, IN_CHINESE)

    assert sources.problems(SOURCE, stamped) == []
    assert stubs.told(stamped) == IN_CHINESE
    (stale,) = sources.problems(SOURCE.replace("Twice", "Thrice"), stamped)
    assert stale.is_stale
    for changed in (stamped.replace('g("//")', "g()"), stamped.replace("return", "// return")):
        (other,) = sources.problems(SOURCE, changed)
        assert other.says == "its code is not that of the English stub"
