"""Pages as one HTML file: no external resource, nothing of a student unescaped.

The content security policy in a page's head forbids everything but its own style, data images and
the one script of ours that a page may have (named by its hash), so a slip in the escaping would
still run nothing. Figures (SVG) are embedded as images for the same
reason: inside an image no script runs and no link is followed.
"""

import base64
import hashlib
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from grader.languages.language import spoken
from grader.text import encodable, visible_line

STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #b3261e; --mild: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --good: #57c26f; --bad: #ff8a80; --mild: #e0b050 } }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 50rem; margin: 0 auto; padding: 1rem }
h1, h2, h3, p { overflow-wrap: anywhere }
h1 { font-size: 1.4rem; margin: .5rem 0 }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 0; color: var(--bad) }
.score { font-size: 1.6rem; font-weight: 600; margin: .5rem 0 }
.notice { border-left: .25rem solid var(--mild); padding: .25rem .75rem; margin: .75rem 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line) }
td { vertical-align: top }
td:nth-child(2), td:nth-child(3) { white-space: nowrap }
.speed { font-size: .85rem }
.speed td { white-space: nowrap }
.speed td:nth-child(2), .speed td:last-child { white-space: normal; min-width: 9rem }
.suspicious td { color: var(--mild) }
meter { width: 6rem }
code, pre { font: .85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere }
pre { white-space: pre-wrap; margin: .4rem 0; padding: .6rem; border: 1px solid var(--line) }
.failure { border-left: .25rem solid var(--bad); padding: .25rem .75rem; margin: 1rem 0 }
details { border-bottom: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer }
ul { padding-left: 1.2rem }
li.passed::marker { color: var(--good) }
li.lost::marker { color: var(--bad) }
figure { margin: 1rem 0 }
img { max-width: 100% }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1rem }
dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 30rem) { meter { width: 3rem } dl { grid-template-columns: 1fr } }
"""


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FIGURE_LIMIT = 2_000_000  # characters of one figure


def page(title: str, body: Iterable[str], *, style: str = "", script: str = "") -> str:
    """Return a whole page; the lines of ``body`` are HTML already, ``script`` is ours."""
    policy = f"{POLICY}; script-src '{_fingerprint(script)}'" if script else POLICY
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escaped(title)}</title>",
        f"<style>{STYLE}{style}</style>",
    ]
    lines = [
        "<!doctype html>",
        f'<html lang="{spoken()}">',
        "<head>",
        *head,
        "</head>",
        "<body>",
        "<main>",
    ]
    end = ["</main>", *([f"<script>{script}</script>"] if script else []), "</body>", "</html>", ""]
    return "\n".join([*lines, *body, *end])


def _fingerprint(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def escaped(text: str) -> str:
    """Return a text as one line of HTML."""
    return html.escape(visible_line(text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that scrolls by itself where the page is narrow."""
    names = "".join(f"<th>{escaped(name)}</th>" for name in head)
    lines = ("".join(f"<td>{escaped(cell)}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table class="speed">\n<tr>{names}</tr>\n{body}\n</table></div>'


def embedded(svg: str) -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(encodable(svg).encode()).decode()}"


def figures(listed: object, source: Callable[[str], str] = embedded) -> list[str]:
    """Return the figures of a list of ``{"title": …, "svg": …}``; anything else is left out.

    ``source`` gives the address of a picture, which is asked for in the order of the figures.
    """
    found: list[str] = []
    for figure in cast(list[Any], listed) if isinstance(listed, list) else []:
        match figure:
            case {"title": str(title), "svg": str(svg)} if len(svg) <= FIGURE_LIMIT:
                image = f'<img alt="{escaped(title)}" src="{html.escape(source(svg))}">'
                found.append(f"<figure>{image}<figcaption>{escaped(title)}</figcaption></figure>")
            case _:
                pass
    return found


def facts_list(title: str, facts: Mapping[str, str]) -> list[str]:
    """Return a heading and a list of facts; nothing if there are none."""
    if not facts:
        return []
    rows = "\n".join(f"<dt>{escaped(key)}</dt><dd>{escaped(facts[key])}</dd>" for key in facts)
    return [f"<h2>{title}</h2>", f"<dl>\n{rows}\n</dl>"]
