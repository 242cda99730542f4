"""Whether every form of a report can be read by what reads that form."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from io import StringIO

from grader.labs.results import Report
from grader.report.formats.forms import Form, render
from grader.report.formats.terminal import make_console, render_terminal

OUR_TAGS = set(
    "html head meta title style body main h1 h2 h3 p strong br small div table tr th td code meter"
    " section pre details summary ul li figure img figcaption dl dt dd".split()
)
# Whatever a terminal obeys instead of drawing it.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


class Page(HTMLParser):
    """Collects what a browser would see in a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br", "img"):
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def malformed(report: Report) -> list[str]:
    """Say which forms of a report are not well-formed, and why."""
    found: list[str] = []
    for form in Form:
        try:
            _read(form, render(report, form), report)
        except (AssertionError, ValueError, IndexError, ET.ParseError) as error:
            found.append(f"{form} is not well-formed: {error}")
    screen = StringIO()
    make_console(screen).print(render_terminal(report))
    if obeyed := OBEYED.search(screen.getvalue()):
        found.append(f"the terminal would obey {obeyed[0]!r}")
    return found


def _read(form: Form, data: bytes, report: Report) -> None:
    text = data.decode("utf-8")
    match form:
        case Form.JSON:
            read = json.loads(text)
            assert text.isascii()
            assert read["score"] == report.score
            assert len(read["tests"]) == len(report.tests)
        case Form.GRADESCOPE:
            assert json.loads(text)["tests"]
        case Form.HTML:
            page = Page(text)
            assert not page.unclosed, f"{page.unclosed} are not closed"
            assert set(page.tags) <= OUR_TAGS, f"tags of others: {set(page.tags) - OUR_TAGS}"
            assert not OBEYED.search(text), "a control character"
        case Form.JUNIT:
            cases = ET.fromstring(data).findall(".//testcase")
            assert len(cases) == len(report.tests), "tests are missing"
        case Form.MARKDOWN:
            assert not OBEYED.search(text), "a control character"
            assert "<script" not in re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.S | re.M)
        case _:
            raise AssertionError(f"nobody says how {form} is read")
