"""A lab's handout as HTML: tables, code in colours by classes, pictures from the lab's folder.

The handouts are the course's own, and yet no HTML in them is taken: the pages allow no style or
script inside, and what a handout needs Markdown has. Formulas, TeX between dollars, are set here
as MathML, which browsers draw themselves.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from grader.extras import needs
from grader.labs.lab import Lab
from grader.labs.translations import pages
from grader.labs.translations.files import translation
from grader.languages.language import Language, say, speaking
from grader.report.markup.formulas import formula, formula_alone
from grader.text import visible_line

with needs("service"):
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

PICTURES = "pictures"  # the folder in a lab's
SCROLLS = 'tabindex="0" role="group"'  # what is wider than a phone scrolls by keys too
KINDS = {".svg": "image/svg+xml", ".png": "image/png"}
_ALIGN = re.compile(r"text-align:\s*(left|right|center)")
_HANDOUT = re.compile(r"(?:\.\./)+(?:labs/)?(\d\d)_[a-z0-9_]+/(?:README(?:\.zh)?\.md)?(#.*)?")
_OWN = re.compile(r"#[\w-]+|https?://[^\s]+")


@dataclass(frozen=True, slots=True)
class Handout:
    """A handout that was rendered; ``sections`` are its headings, by their ids."""

    html: str
    sections: Sequence[tuple[str, str]]
    language: Language = Language.ENGLISH


def handouts_of(labs: Sequence[Lab]) -> dict[tuple[str, Language], Handout]:
    """Render the handouts of labs, each for readers of each language, by the lab's name."""
    return {(lab.name, reader): handout_of(lab, reader) for lab in labs for reader in Language}


def handout_of(lab: Lab, reader: Language = Language.ENGLISH) -> Handout:
    """Render a lab's handout, without its title; in English where it is not translated.

    A section of a translation whose English has changed since says so.
    """
    text, language = lab.handout.read_text(encoding="utf-8"), Language.ENGLISH
    if reader is Language.CHINESE and (chinese := translation(lab.handout)).is_file():
        text, language = pages.told(text, chinese.read_text(encoding="utf-8")), reader
    with speaking(language):
        return rendered(lab, text, language)


def rendered(lab: Lab, text: str, language: Language) -> Handout:
    """Render a text of a lab, without its title."""
    tokens = _markdown().parse(text)
    kept = _without_title(tokens)
    sections: list[tuple[str, str]] = []
    for at, token in enumerate(kept):
        _without_style(token)
        if token.type == "heading_open" and token.tag == "h2":
            text = "".join(child.content for child in kept[at + 1].children or ())
            token.attrSet("id", f"part-{len(sections) + 1}")
            sections.append((f"part-{len(sections) + 1}", text))
        for child in token.children or ():
            _relate(lab, child)
    markdown = _markdown()
    html = markdown.renderer.render(kept, markdown.options, {})
    code = f'<pre {SCROLLS} aria-label="{say("Code")}">'
    return Handout(html.replace("<pre>", code), sections, language)


def picture_of(lab: Lab, name: str) -> Path | None:
    """Return a picture of a lab by its file's name; None if there is none."""
    folder = lab.folder / PICTURES
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
    return folder / name if name in names and Path(name).suffix in KINDS else None


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable("table")
    # A dollar before a digit or a blank is money, or a shell's.
    dollarmath_plugin(made, allow_space=False, allow_digits=False, double_inline=True)
    made.add_render_rule("math_inline", _formula)
    made.add_render_rule("math_inline_double", _formula_alone)
    made.add_render_rule("math_block", _formula_alone)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    return made


def _table_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    return f'<div class="wide" {SCROLLS} aria-label="{say("Table")}">' + renderer.renderToken(
        tokens, index, options, env
    )


def _table_close(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    return renderer.renderToken(tokens, index, options, env) + "</div>"


def _formula(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    return formula(tokens[index].content)


def _formula_alone(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    set_ = formula_alone(tokens[index].content)
    return f'<div class="wide formula" {SCROLLS} aria-label="{say("Formula")}">{set_}</div>\n'


def _coloured(code: str, language: str, _attributes: str) -> str:
    """Return code as spans; an empty string, which lets it be escaped, in an unknown language."""
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _without_title(tokens: Sequence[Token]) -> list[Token]:
    first = [token.type for token in tokens[:3]] == ["heading_open", "inline", "heading_close"]
    return [*tokens[3:]] if first and tokens[0].tag == "h1" else [*tokens]


def _without_style(token: Token) -> None:
    """Turn the style by which a column is aligned into a class: pages take no style inside."""
    style = token.attrs.pop("style", None)
    match = _ALIGN.search(str(style)) if style else None
    if match:
        token.attrSet("class", f"to-{match[1]}")


def _relate(lab: Lab, token: Token) -> None:
    """Let links and pictures lead to where they are on the web."""
    if token.type == "image":
        name = PurePosixPath(str(token.attrs.get("src", ""))).name
        token.attrSet("src", f"/labs/{lab.number}/{PICTURES}/{name}")
        token.attrSet("loading", "lazy")
    elif token.type == "link_open":
        target = str(token.attrs.get("href", ""))
        other = _HANDOUT.fullmatch(target)
        if other:
            token.attrSet("href", f"/labs/{int(other[1])}{other[2] or ''}")
        elif not _OWN.fullmatch(target):
            # A page of the course's tree, which the student has: a text with its place.
            del token.attrs["href"]
            place = visible_line(target.lstrip("./"), 80)
            token.attrSet("title", say(f"in your tree: {place}"))
