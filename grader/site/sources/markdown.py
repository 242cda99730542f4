"""Markdown as text: what stands outside of code, its links, and the anchors of its headings."""

import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_OR_LINK = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<picture>!\[(?P<alt>(?:\\.|[^\]\\])*)\]\((?P<file>[^()\s]+)\))"
    r"|\[(?P<text>(?:[^\[\]`\\]|\\.|`[^`]*`)+)\]\((?P<target>[^()\s]+)\)"
)
_CHINESE = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
_ENDS_CHINESE = re.compile(r"[\u3000-\u9fff\uff00-\uffef]$")
_COMMENT = re.compile(r"<!--.*?-->")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")


def outside(text: str) -> Iterator[tuple[bool, str]]:
    """Give each line with True where it is prose, False inside of a fence or as its edge."""
    fence = ""
    for line in text.splitlines():
        edge = _FENCE.match(line)
        if fence:
            yield False, line
            if edge and edge[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = edge[1] if edge else ""
            yield not fence, line


def rewritten(
    text: str, link: Callable[[str, str], str], picture: Callable[[str, str], str]
) -> str:
    """Put what ``link`` makes of (text, target), and ``picture`` of (alt, file), in their places.

    Comments are dropped; code stays as it is, also indented code.
    """

    def one(match: re.Match[str]) -> str:
        if match["ticks"]:
            return match[0]
        if match["picture"]:
            return picture(match["alt"], match["file"])
        return link(match["text"], match["target"])

    lines = [
        _CODE_OR_LINK.sub(one, _COMMENT.sub("", line)) if prose and not _is_code(line) else line
        for prose, line in outside(text)
    ]
    return "\n".join(lines) + "\n"


def _is_code(line: str) -> bool:
    # Continued list items are indented too; a comment or a link in these is not rare.
    return line.startswith("    ") and "](" not in line


def unbroken(text: str) -> str:
    """Join lines that end and begin with Chinese: a browser would put a blank between them."""
    lines: list[str] = []
    goes_on = False
    for prose, line in outside(text):
        if goes_on and prose and _ENDS_CHINESE.search(lines[-1]) and _CHINESE.match(line):
            lines[-1] += line
        else:
            lines.append(line)
        goes_on = prose and not _HEADING.match(lines[-1])
    return "\n".join(lines) + "\n"


def section(text: str, title: str) -> str:
    """Return what stands under the first heading of that text, up to the next; "" without one."""
    kept: list[str] = []
    inside = False
    for prose, line in outside(text):
        match = _HEADING.match(line) if prose else None
        if match and inside:
            break
        if inside:
            kept.append(line)
        inside = inside or bool(match and match[2] == title)
    return "\n".join(kept).strip()


def slug(title: str) -> str:
    """Return the anchor that GitHub gives a heading, from its text without marks."""
    kept = re.sub(r"[^\w\- ]", "", title.strip().lower())
    return kept.replace(" ", "-")


def slugs(titles: list[str]) -> list[str]:
    """Return the anchors of a page's headings; the second of a kind ends with ``-1``."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for title in titles:
        plain = slug(title)
        count = seen.get(plain, -1) + 1
        seen[plain] = count
        found.append(f"{plain}-{count}" if count else plain)
    return found
