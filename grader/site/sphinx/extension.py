"""A Sphinx extension: anchors as GitHub has them, formulas as MathML, a link to the other language.

Anchors of a Chinese page are those of the English one, for links are not translated.
"""

from collections.abc import Mapping
from typing import Any

from grader.extras import needs
from grader.report.markup.formulas import formula, formula_alone
from grader.site.sources.markdown import slugs
from grader.site.sphinx.search import SearchPairs

with needs("docs"):
    from docutils import nodes
    from sphinx.application import Sphinx

ANCHORS, OTHER = "site_anchors", "site_other_language"  # settings, by the names of pages
WORDS = {"en": ("zh", "中文"), "zh": ("en", "English")}

_HELP = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'role="heading"': 'role="heading" aria-level="2"',
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it; Sphinx calls this."""
    app.add_config_value(ANCHORS, {}, "")
    app.add_config_value(OTHER, {}, "")
    app.add_search_language(SearchPairs)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-read", _name_sections, priority=100)  # before contents are collected
    app.connect("html-page-context", _offer_other_language)
    app.connect("html-page-context", _help_without_mouse, priority=900)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(formula(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(
        f'<div class="formula" tabindex="0">{formula_alone(node.astext())}</div>'
    )
    raise nodes.SkipNode


def _name_sections(app: Sphinx, doctree: nodes.document) -> None:
    sections = [*doctree.findall(nodes.section)]
    known: dict[str, list[str]] = getattr(app.config, ANCHORS)
    page = app.env.docname
    named = known.get(page) or slugs([section[0].astext() for section in sections])
    known[page] = named
    for section, name in zip(sections, named, strict=False):
        section["ids"] = [name, *(known for known in section["ids"] if known != name)]


def _offer_other_language(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    others: Mapping[str, str] = getattr(app.config, OTHER)
    if page in others:
        language, name = WORDS["zh" if str(app.config.language).startswith("zh") else "en"]
        context["body"] = (
            f'<p class="languages"><a href="{others[page]}" lang="{language}" '
            f'hreflang="{language}">{name}</a></p>{context["body"]}'
        )


def _help_without_mouse(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let what is wider than a phone scroll by keys too, and give captions their level."""
    for key in ("body", "furo_navigation_tree"):
        for plain, helpful in _HELP.items():
            context[key] = str(context.get(key, "")).replace(plain, helpful)
