"""Where links lead, how they are rewritten, and what the check of a built site says of them."""

import pytest

from grader.errors import UsageError
from grader.site.check import problems
from grader.site.sources.links import Links
from grader.site.sources.markdown import rewritten, section, slugs, unbroken
from grader.site.sources.repository import Repository, is_kept

FILES = frozenset(
    {"README.md", "README.zh.md", "docs/course.md", "docs/trust.md", "docs/course.zh.md"}
    | {"labs/01_llama/README.md", "labs/01_llama/llama.py", "labs/llama.py", "deploy/nginx.conf"}
    | {"solutions/01_llama/llama.py", "tests/field/01_llama/a.py", "tests/exploits/cheat/b.py"}
    | {"grader/suites/test_01_llama.py", "reference/llama.py", "grader/text.py"}
)


def page(folder, path, body):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"<html><body>{body}</body></html>", encoding="utf-8")


@pytest.fixture
def links(tmp_path):
    return Links(Repository(tmp_path, FILES))


@pytest.mark.parametrize(
    ("where", "target", "leads_to"),
    [
        ("docs/trust.md", "course.md#late", "course.html#late"),
        ("README.md", "docs/", "docs/"),
        ("README.md", "labs/01_llama/", "labs/01_llama/README.html"),
        ("docs/trust.md", "../labs/01_llama/README.md", "../labs/01_llama/README.html"),
        ("docs/trust.md", "../deploy/nginx.conf", "../files/deploy/nginx.conf.html"),
        ("docs/trust.md", "../labs/01_llama/llama.py", "../files/labs/01_llama/llama.py.html"),
        ("docs/trust.md", "../README.zh.md", "../zh/README.html"),
        ("docs/trust.md", "#here", "#here"),
        ("docs/trust.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/trust.md", "absent.md", "absent.md"),
    ],
)
def test_a_link_leads_to_the_page_of_its_file(links, where, target, leads_to):
    if target == "docs/":
        leads_to = "files/not-here.html"  # a folder without a page of its own

    assert links.href(where, "", target) == leads_to


@pytest.mark.parametrize(
    "target",
    [
        *("../solutions/01_llama/llama.py", "../grader/suites", "../tests/field/01_llama/a.py"),
        *("../reference/llama.py", "../grader/text.py", "../labs/llama.py", "../tests/exploits/"),
    ],
)
def test_a_link_to_what_is_not_shown_leads_to_the_page_that_says_so(links, target):
    assert links.href("docs/trust.md", "", target) == "../files/not-here.html"
    assert links.shown == set()


@pytest.mark.parametrize(
    ("target", "leads_to"),
    [
        ("course.md#late", "course.html#late"),  # both are Chinese
        ("trust.md", "../../docs/trust.html"),  # English alone
        ("../README.md", "../README.html"),
        ("../deploy/nginx.conf", "../../files/deploy/nginx.conf.html"),
    ],
)
def test_a_link_of_a_chinese_page_stays_chinese_where_it_can(links, target, leads_to):
    assert links.href("docs/course.md", "zh/", target) == leads_to


@pytest.mark.parametrize("path", sorted(path for path in FILES if is_kept(path)))
def test_no_page_is_written_from_what_instructors_alone_may_read(tmp_path, path):
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("a secret", encoding="utf-8")

    with pytest.raises(UsageError, match="only instructors"):
        Repository(tmp_path, FILES).text(path)


def test_links_in_code_stay_as_they_are_and_comments_go():
    text = (
        "a [b `c`](d.md) <!-- en: 01 --> `[x](y)` ![p \\[0\\]](q.svg)\n```\n[x](y) <!---->\n```\n"
    )

    got = rewritten(text, lambda words, to: f"<{words}|{to}>", lambda alt, file: f"({file})")

    assert got == "a <b `c`|d.md>  `[x](y)` (q.svg)\n```\n[x](y) <!---->\n```\n"


def test_lines_of_chinese_are_joined_and_no_others():
    text = "# 一\n二。\n三\nfour\n五\n```\n六\n七\n```\n八\n\n九\n"

    assert unbroken(text) == "# 一\n二。三\nfour\n五\n```\n六\n七\n```\n八\n\n九\n"


def test_anchors_are_those_of_github():
    titles = ["Publishing: lab publish 1-3 --to X", "The same", "The same", "A_b — c"]

    assert slugs(titles) == [
        "publishing-lab-publish-1-3---to-x",
        "the-same",
        "the-same-1",
        "a_b--c",
    ]


def test_a_section_ends_at_the_next_heading():
    assert section("# T\n\n## Goal\n\none\n```\n# no heading\n```\n## Next\ntwo", "Goal") == (
        "one\n```\n# no heading\n```"
    )


def test_a_sound_site_has_no_problems(tmp_path):
    page(tmp_path, "index.html", '<a href="docs/a.html#b">a</a> <a href="https://x.org">x</a>')
    page(
        tmp_path,
        "docs/a.html",
        '<h1 id="b">b</h1> <a href="#b">b</a> <a href="../index.html">i</a>',
    )

    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('<a href="b.html">b</a>', "b.html: there is no such page or file"),
        ('<a href="a.html#c">c</a>', "a.html#c: docs/a.html has no such anchor"),
        ('<a href="#c">c</a>', "#c: docs/a.html has no such anchor"),
        ('<img src="b.svg">', "b.svg: there is no such page or file"),
        ('<script src="https://x.org/a.js"></script>',
         "https://x.org/a.js: is loaded from elsewhere"),
        ('<link rel="stylesheet" href="//x.org/a.css">',
         "//x.org/a.css: is loaded from elsewhere"),
    ],
)  # fmt: skip
def test_what_leads_nowhere_or_elsewhere_is_named_with_its_page(tmp_path, body, told):
    page(tmp_path, "docs/a.html", body)

    assert problems(tmp_path) == [f"docs/a.html: {told}"]


def test_a_style_that_loads_a_font_from_elsewhere_is_named(tmp_path):
    (tmp_path / "a.css").write_text('@import "https://fonts.example.org/a.css";', encoding="utf-8")

    assert problems(tmp_path) == [
        "a.css: https://fonts.example.org/a.css: is loaded from elsewhere"
    ]
