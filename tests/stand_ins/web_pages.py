"""What of a page acts: elements and addresses that no text of a student's may become."""

from html.parser import HTMLParser

from stand_ins.web_lines import Answer

MARKUP = (
    "</textarea></pre></code></title></style><script>alert(1)</script><img src=x onerror=alert(2)>"
    "<svg onload=alert(3)><a href='javascript:alert(4)'>x</a><iframe src=//evil.example></iframe>"
    "<form action=//evil.example><input name=csrf></form>\"'><base href=//evil.example>"
    "<meta http-equiv=refresh content=0><style>*{display:none}</style>{{ 7 * 7 }}{% raw %}\n"
    "]]><!--<math><mtext></p><object data=x><embed src=x><link rel=stylesheet href=//evil>"
)
# What our own pages are made of, and nothing else.
OURS = frozenset(
    "html head meta title link body a header nav form span small input button main p h1 h2 h3 h4 "
    "ul ol li table thead tbody tfoot tr th td div section article details summary code pre label "
    "textarea select option figure figcaption img strong em br hr blockquote footer noscript "
    "script dl dt dd meter svg path text g rect line title s".split()
)
SCRIPTS = ("/static/service.js",)
LINKS = ("/", "#", "https://")  # a handout may lead elsewhere, over TLS
SWITCHES = ("?lang=zh", "?lang=en")  # of the same page, and nothing of its address


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag not in OURS:
            self.found.append(f"<{tag}>")
        if tag == "script" and named.get("src") not in SCRIPTS:
            self.found.append("a script")
        if tag == "meta" and "http-equiv" in named:
            self.found.append("a meta that acts")
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc", "formaction"):
                self.found.append(f"{name} of <{tag}>")
            if name in ("href", "src", "action", "data") and value and value not in SWITCHES:
                if not value.startswith(LINKS) or value.startswith("//") or "evil" in value:
                    self.found.append(f"{name}={value!r} of <{tag}>")


def active(page: Answer) -> list[str]:
    """Return what of a page acts and is not ours."""
    assert page.header("content-type").startswith(("text/html", "application/json")), page
    if not page.header("content-type").startswith("text/html"):
        return []
    reader = _Reader()
    reader.feed(page.text)
    reader.close()
    return reader.found + (["a template's text was run"] if ">49" in page.text else [])
