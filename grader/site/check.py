"""Does every link of a built site lead somewhere, and does no page ask elsewhere for anything?

What is checked is HTML as browsers get it, whoever made it. Addresses of other hosts are not
asked: whether they answer is no property of the site.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_LOADED = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


@dataclass(slots=True)
class Page(HTMLParser):
    """The anchors of a page, where it leads, and what it loads."""

    anchors: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])
    loaded: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag says."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if FETCHED.get(tag) in found:
            self.loaded.append(found[FETCHED[tag]])


def problems(folder: Path) -> list[str]:
    """List what is wrong with a site, a line each: the page, the link, and why it leads nowhere."""
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    pages = {path: read(folder / path) for path in sorted(files) if path.endswith(".html")}
    found: list[str] = []
    for path, page in pages.items():
        for target in page.links:
            found += (f"{path}: {target}: {why}" for why in _broken(path, target, files, pages))
        for target in page.loaded:
            if _is_elsewhere(target):
                found.append(f"{path}: {target}: is loaded from elsewhere")
            else:
                found += (f"{path}: {target}: {why}" for why in _broken(path, target, files, pages))
    for path in sorted(files):
        if path.endswith(".css"):
            styles = (folder / path).read_text(encoding="utf-8")
            found += (f"{path}: {at}: is loaded from elsewhere" for at in _LOADED.findall(styles))
    return list(dict.fromkeys(found))


def read(file: Path) -> Page:
    """Parse a page."""
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def _is_elsewhere(target: str) -> bool:
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def _broken(path: str, target: str, files: set[str], pages: Mapping[str, Page]) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    wanted = normpath(join(dirname(path), unquote(parts.path))) if parts.path else path
    if wanted not in files:
        yield "there is no such page or file"
    elif parts.fragment and wanted in pages:
        if unquote(parts.fragment) not in pages[wanted].anchors:
            yield f"{wanted} has no such anchor"
