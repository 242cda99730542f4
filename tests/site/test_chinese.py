"""A Chinese page stands beside the English one where the repository has a translation."""

import json
import re
import shutil
import subprocess

import pytest
from stand_ins.import_graph import ROOT

from grader.labs.translations.pages import stamped
from grader.site.build import build_site

TAKEN = (
    *("Makefile", "docs/course.md", "docs/service.md", "docs/field.md", "docs/writing-suites.md"),
    *("labs/01_llama/lab.toml", "labs/01_llama/llama.py"),
)
HANDOUT = """# Lab 01

See [the course](../../docs/course.md) and [the task](#task-1--norm).

## Goal

Write it.

## Task 1 · norm

$$y = x^2$$
"""
BROKEN = (
    "See [what is gone](gone.md), [a part](trust.md#nowhere), [another](trust.md#what-is-new).\n"
)
TRANSLATED = """# 实验 01
<!-- en: 0123456789ab -->

见 [课程](../../docs/course.md) 和 [任务](#task-1--norm)。

## 目标
<!-- en: 0123456789ab -->

写出来。
用投机采样。

## 任务 1 · norm
<!-- en: 0123456789ab -->

$$y = x^2$$
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root, folder = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("site") / "built"
    for path in TAKEN:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / path).read_text(encoding="utf-8")
        # Of documents their examples and tables alone: other pages that they name are not here.
        file.write_text(text.replace("](", "] (") if path.endswith(".md") else text, "utf-8")
    (root / "labs/01_llama/README.md").write_text(HANDOUT, encoding="utf-8")
    current = stamped(HANDOUT, TRANSLATED)
    (root / "labs/01_llama/README.zh.md").write_text(current, encoding="utf-8")
    (root / "docs/trust.md").write_text("# Trust\n\n## What is new\n\nThis.\n", encoding="utf-8")
    (root / "docs/trust.zh.md").write_text("# 信任\n\n## 新\n\n这。\n", encoding="utf-8")
    (root / "docs/checkpoints.md").write_text("# Checkpoints\n", encoding="utf-8")
    (root / "docs/timing.md").write_text("# Timing\n\n" + BROKEN, encoding="utf-8")
    (root / "docs/sanitizer.md").write_text("# Sanitizer\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", root], check=True)
    found = build_site(root, folder)
    yield found, folder
    shutil.rmtree(folder)


def test_a_site_with_some_pages_translated_has_no_broken_link_but_the_two_that_are(site):
    problems, _ = site

    assert problems == [
        "docs/timing.html: gone.md: there is no such page or file",
        "docs/timing.html: trust.html#nowhere: docs/trust.html has no such anchor",
    ]


def test_each_of_two_languages_leads_to_the_other(site):
    _, folder = site
    english = (folder / "labs/01_llama/README.html").read_text(encoding="utf-8")
    chinese = (folder / "zh/labs/01_llama/README.html").read_text(encoding="utf-8")

    assert (
        '<a href="../../zh/labs/01_llama/README.html" lang="zh" hreflang="zh">中文</a>' in english
    )
    assert '<a href="../../../labs/01_llama/README.html" lang="en" hreflang="en">' in chinese
    assert '<html class="no-js" lang="zh-CN"' in chinese
    assert "<math" in chinese
    assert "&lt;!--" not in chinese


def test_first_page_leads_to_the_chinese_card_and_that_to_the_handout(site):
    _, folder = site
    front = (folder / "zh/index.html").read_text(encoding="utf-8")
    card = (folder / "labs/01_llama/index.html").read_text(encoding="utf-8")
    chinese = (folder / "zh/labs/01_llama/index.html").read_text(encoding="utf-8")

    assert 'href="labs/01_llama/index.html">01 ·' in front
    assert 'href="../../zh/labs/01_llama/README.html">' in card
    assert 'href="README.html">' in chinese
    assert 'lang="en" hreflang="en">' in chinese


def test_a_chinese_card_is_told_in_chinese(site):
    _, folder = site
    card = (folder / "zh/labs/01_llama/index.html").read_text(encoding="utf-8")
    told = re.sub(r"<(script|style).*?</\1>|<code.*?</code>|<[^>]+>", " ", card, flags=re.DOTALL)
    own = told[told.index("教什么") : told.index("测得了什么")]

    assert "写出来。" in own  # of the handout
    assert re.findall(r"[a-z]+(?: [a-z]+){2,}", own) == []


def test_a_page_without_a_translation_leads_to_none(site):
    _, folder = site

    assert 'class="languages"' not in (folder / "docs/course.html").read_text(encoding="utf-8")
    assert not (folder / "zh/docs/course.html").exists()


def test_anchors_and_links_of_a_chinese_page_are_those_of_the_english_one(site):
    _, folder = site
    chinese = (folder / "zh/labs/01_llama/README.html").read_text(encoding="utf-8")

    assert '<section id="task-1--norm">' in chinese
    assert 'href="../../../docs/course.html"' in chinese


def test_a_stale_section_says_so_and_one_in_step_does_not(site):
    _, folder = site
    stale = (folder / "zh/docs/trust.html").read_text(encoding="utf-8")
    current = (folder / "zh/labs/01_llama/README.html").read_text(encoding="utf-8")

    assert stale.count("<blockquote>") == 2
    assert "<blockquote>" not in current


def test_chinese_words_are_in_the_index_that_the_page_searches(site):
    _, folder = site
    index = (folder / "zh/searchindex.js").read_text(encoding="utf-8")

    assert json.dumps("投机") in index
    assert "function splitQuery" in (folder / "zh/_static/language_data.js").read_text("utf-8")
