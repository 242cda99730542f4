"""Sphinx, run on the staged pages of one language."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.extras import needs
from grader.site.sphinx.extension import ANCHORS, OTHER

with needs("docs"):
    from sphinx.application import Sphinx
    from sphinx.util.console import strip_colors
    from sphinx.util.docutils import docutils_namespace, patch_docutils

STATIC = Path(__file__).with_name("static")
LANGUAGES = {"en": "en", "zh": "zh_CN"}


def build(
    source: Path,
    target: Path,
    language: str,
    anchors: dict[str, list[str]],
    others: Mapping[str, str],
) -> Sequence[str]:
    """Write the pages of a language as HTML, and return what Sphinx warns of.

    Args:
        source: a folder of Markdown with an ``index.md``.
        target: a folder that is absent or empty.
        anchors: of each page, by its name; what is not there yet is added.
        others: where the page in the other language lies, seen from it.
    """
    warnings = io.StringIO()
    with patch_docutils(), docutils_namespace():  # else a second run finds the first one's roles
        app = Sphinx(
            *(source, None, target, source.with_name(f"{source.name}-trees"), "html"),
            confoverrides=_settings(language) | {ANCHORS: anchors, OTHER: dict(others)},
            status=None,
            warning=warnings,
            freshenv=True,
        )
        app.build(force_all=True)
    lines = strip_colors(warnings.getvalue()).splitlines()
    return [line for line in lines if line.strip()]


def _settings(language: str) -> dict[str, Any]:
    return {
        "project": "inferlab",
        "language": LANGUAGES[language],
        "extensions": ["myst_parser", "grader.site.sphinx.extension"],
        "source_suffix": {".md": "markdown"},
        "root_doc": "index",
        "highlight_language": "text",
        "smartquotes": False,  # they would make a dash of the options of a command
        "html_theme": "furo",
        "html_title": "inferlab",
        "html_static_path": [str(STATIC)],
        "html_css_files": ["site.css"],
        "html_js_files": ["site.js"],
        "html_math_renderer": "mathml",
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "html_use_index": False,
        "html_theme_options": {"top_of_page_buttons": []},
        "templates_path": [],
        # As on the pages of the service: a dollar before a digit or a blank is money, or a shell's.
        "myst_enable_extensions": ["dollarmath"],
        "myst_dmath_allow_space": False,
        "myst_dmath_allow_digits": False,
        "myst_dmath_double_inline": True,
        "suppress_warnings": ["misc.highlighting_failure", "myst.header", "toc.not_included"],
    }
