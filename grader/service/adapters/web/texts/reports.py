"""A report inside a page: as ``--html`` writes it, its pictures as files of their own."""

from dataclasses import dataclass

from grader.labs.results import Report
from grader.report.formats.html import report_body
from grader.report.markup.heatmap import STYLE as DIFFERENCES
from grader.report.markup.web import STYLE

# What is wider than a phone is reached by keys too: nothing that was escaped looks like it.
WIDE = '<div class="wide">'
SCROLLED = '<div class="wide" tabindex="0" role="group" aria-label="Table">'
SHEET = STYLE + DIFFERENCES  # what a report's HTML is drawn with


@dataclass(frozen=True, slots=True)
class Drawn:
    """A report's HTML, and its pictures (SVG) in the order in which it names them."""

    html: str
    pictures: tuple[str, ...]


def drawn(report: Report, folder: str) -> Drawn:
    """Draw a report; its pictures are at ``folder``/0.svg and so on."""
    pictures: list[str] = []

    def source(svg: str) -> str:
        pictures.append(svg)
        return f"{folder}/{len(pictures) - 1}.svg"

    html = "\n".join(report_body(report, source)).replace(WIDE, SCROLLED)
    return Drawn(html, tuple(pictures))
