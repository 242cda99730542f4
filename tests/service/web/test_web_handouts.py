"""The handouts of all labs as pages: nothing lost, nothing that the policy of pages forbids."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader import ROOT
from grader.labs.lab import Lab, all_labs
from grader.service.adapters.web.texts.handouts import handout_of, picture_of

LABS = all_labs(ROOT)
SETS = {"math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "mfrac", "msqrt"} | {
    *("msub", "msup", "msubsup", "munder", "mover", "munderover")
}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_handout_keeps_its_sections_tables_and_pictures(lab: Lab) -> None:
    text = lab.handout.read_text(encoding="utf-8")
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)

    handout = handout_of(lab)

    assert len(handout.sections) == len(re.findall(r"^## ", plain, re.MULTILINE)) > 3
    assert handout.html.count("<table>") == len(re.findall(r"^\|[-:| ]+\|$", plain, re.MULTILINE))
    shown = re.findall(r'<img src="/labs/(\d+)/pictures/([^"]+)"', handout.html)
    assert len(shown) == plain.count("](pictures/")
    assert all(number == str(lab.number) and picture_of(lab, name) for number, name in shown)
    assert "style=" not in handout.html
    assert "<script" not in handout.html
    assert re.findall(r'href="(?!#|/labs/|https?://)', handout.html) == []


def test_code_is_coloured_by_classes_and_an_unknown_language_is_text(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# T\n\n```python\nreturn '<b>'\n```\n\n```klingon\n<i>nuqneH</i>\n```\n"
    )

    html = handout_of(replace(LABS[0], folder=tmp_path)).html

    assert '<span class="k">return</span>' in html
    assert "&lt;b&gt;" in html
    assert "&lt;i&gt;nuqneH&lt;/i&gt;" in html


def test_columns_to_the_right_and_html_of_a_handout(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# Title\n\n| a | b |\n|---|--:|\n| 1 | <b>2</b> |\n\n[x](javascript:alert(1)) "
        "[two](../02_batching/README.md) [tree](../../docs/triton.md)\n"
    )

    handout = handout_of(replace(LABS[0], folder=tmp_path))

    assert "Title" not in handout.html
    assert '<td class="to-right">&lt;b&gt;2&lt;/b&gt;</td>' in handout.html
    assert 'href="javascript' not in handout.html
    assert '<a href="/labs/2">two</a>' in handout.html
    assert '<a title="in your tree: docs/triton.md">tree</a>' in handout.html


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_formulas_of_a_handout_are_set_and_none_is_left_as_tex(lab: Lab) -> None:
    text = lab.handout.read_text(encoding="utf-8")

    html = handout_of(lab).html

    alone = re.findall(r"^\$\$(.+)\$\$$", text, re.MULTILINE)
    assert html.count('<div class="wide formula"') == len(alone)
    assert "$" not in html
    set_ = re.findall(r"<math.*?</math>", html, re.DOTALL)
    assert bool(set_) == ("$" in text)
    assert [each for each in set_ if "\\" in each] == []
    elements = {name for each in set_ for name in re.findall(r"<(\w+)", each)}
    assert elements <= SETS


def test_money_code_and_markup_are_no_formulas(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# T\n\nIt costs $5 to $9.\n\n    echo $HOME $PATH\n\n`$x$` and $x < y$ "
        "and $\\text{<b>}$\n\n$$a \\qquad b$$\n"
    )

    html = handout_of(replace(LABS[0], folder=tmp_path)).html

    assert "It costs $5 to $9." in html
    assert "echo $HOME $PATH" in html
    assert "<code>$x$</code>" in html
    assert "<b>" not in html
    assert html.count("<math ") == 4
