"""Two answers beside each other, and the clusters of a lab, as HTML that needs no script.

A passage is told by its number and its border too, never by a colour alone. All text is a
student's: it is escaped, and what is too long is cut and said to be.
"""

from collections.abc import Sequence

from grader.course.likeness.passages import Beside, Line
from grader.report.markup.web import escaped

MOST_LINES = 3000  # of an answer
LONGEST_LINE = 300  # characters of a line
KINDS = 6  # of colours and borders, which repeat
STYLE = """
.beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem }
.beside h2 { margin: 0 0 .3rem; overflow-wrap: anywhere }
.beside .code { overflow-x: auto; border: 1px solid var(--line) }
.beside table { font: .78rem/1.45 ui-monospace, monospace; width: 100% }
.beside td { border: 0; padding: 0 .4rem; white-space: pre; tab-size: 4 }
.beside td.number, .beside td.mark { text-align: right; width: 1% }
.beside td.number, .beside .published td { opacity: .62 }
.beside .published td.text { font-style: italic }
.beside tr:target td { outline: 2px solid currentColor; outline-offset: -2px }
.beside td.mark a { padding: 0 .2rem; color: inherit }
.beside .in td.text { border-left: .3rem var(--edge) var(--own); background: var(--back) }
.in.k0 { --own: #0969da; --back: #0969da22; --edge: solid }
.in.k1 { --own: #bc4c00; --back: #bc4c0022; --edge: dashed }
.in.k2 { --own: #8250df; --back: #8250df22; --edge: dotted }
.in.k3 { --own: #1a7f37; --back: #1a7f3722; --edge: double }
.in.k4 { --own: #bf3989; --back: #bf398922; --edge: groove }
.in.k5 { --own: #9a6700; --back: #9a670022; --edge: ridge }
.passages { columns: 18rem; padding-left: 1.6rem }
@media (max-width: 48rem) { .beside { grid-template-columns: minmax(0, 1fr) } }
"""
LEGEND = (
    "A number before a line is that of its passage: it leads to the same passage of the other"
    " answer, and ↓ to the next one. What everyone was given is faint and in italics."
)


def drawn(found: Beside, names: tuple[str, str]) -> list[str]:
    """Return lines of HTML: the passages as links, then both answers."""
    own = sum(passage.tokens for passage in found.passages)
    many = "1 passage" if len(found.passages) == 1 else f"{len(found.passages)} passages"
    told = f"{many} in both, {own:,} characters of code without names, comments and layout."
    if not found.passages:
        told = "No passage of theirs is in both: what is alike is too short or was given to all."
    lines = [f"<p>{told}</p>", f"<p><small>{LEGEND}</small></p>"]
    if found.cut:
        lines.append('<p class="notice">Only the beginning could be compared: there is more.</p>')
    shown = [_present(side) for side in (found.one, found.other)]
    lines += _listed(found, shown[0])
    lines.append('<div class="beside">')
    for at, side in enumerate((found.one, found.other)):
        lines += _side(side, names[at], "ab"[at], "ba"[at], shown[1 - at])
    return [*lines, "</div>"]


def _listed(found: Beside, shown: Sequence[int]) -> list[str]:
    if not found.passages:
        return []
    lines = ['<nav aria-label="Passages"><ol class="passages">']
    for number, passage in enumerate(found.passages, 1):
        told = f"lines {_range(passage.one)} and {_range(passage.other)}"
        told = f'<a href="#a{number}">{told}</a>' if number in shown else told
        lines.append(f"<li>{told} <small>({passage.tokens:,})</small></li>")
    return [*lines, "</ol></nav>"]


def _range(lines: tuple[int, int]) -> str:
    return str(lines[0]) if lines[0] == lines[1] else f"{lines[0]}–{lines[1]}"  # noqa: RUF001 - a range


def _side(
    lines: Sequence[Line], name: str, own: str, other: str, there: Sequence[int]
) -> list[str]:
    found = [
        f'<section aria-labelledby="{own}"><h2 id="{own}">{escaped(name)}</h2>',
        f'<div class="code" tabindex="0" role="group" aria-labelledby="{own}"><table>',
    ]
    present = _present(lines)
    begun: set[int] = set()
    for number, line in enumerate(lines[:MOST_LINES], 1):
        is_first = line.passage not in begun
        begun.add(line.passage)
        where = (own, other) if is_first else None
        found.append(_row(number, line, where, line.passage in there, _next(present, line)))
    found.append("</table></div>")
    if len(lines) > MOST_LINES:
        found.append(f"<p><small>and {len(lines) - MOST_LINES:,} more lines</small></p>")
    return [*found, "</section>"]


def _row(
    number: int, line: Line, first: tuple[str, str] | None, is_there: bool, following: int
) -> str:
    kind, mark, name = "", "", ""
    if line.passage:
        kind, mark = f"in k{line.passage % KINDS}", str(line.passage)
        if first is not None:
            own, other = first
            name = f' id="{own}{mark}"'
            if is_there:
                title = f"passage {mark} in the other answer"
                mark = f'<a href="#{other}{line.passage}" aria-label="{title}">{mark}</a>'
            if following:
                title = f"next passage, {following}"
                mark += f'<a href="#{own}{following}" aria-label="{title}">↓</a>'
    elif line.published:
        kind = "published"
    text = line.text[: LONGEST_LINE + 1].expandtabs(4)
    return (
        f'<tr{name} class="{kind}"><td class="number">{number}</td>'
        f'<td class="mark">{mark}</td><td class="text">{escaped(text)}</td></tr>'
    )


def _present(lines: Sequence[Line]) -> list[int]:
    """Return the passages that a side has lines of, in the order in which they begin there."""
    return [*dict.fromkeys(line.passage for line in lines[:MOST_LINES] if line.passage)]


def _next(present: Sequence[int], line: Line) -> int:
    if line.passage not in present:
        return 0
    at = present.index(line.passage) + 1
    return present[at] if at < len(present) else 0
