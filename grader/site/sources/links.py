"""Where a link of a Markdown file leads on the site, in either language."""

import posixpath
from dataclasses import dataclass, field
from html import escape
from urllib.parse import unquote

from grader.site.sources.repository import CHINESE, Repository, is_kept

ENGLISH, CHINESE_FOLDER = "", "zh/"  # where the pages of a language lie in the site
NOT_HERE = "files/not-here.md"  # what stays with the instructors has this page instead
_ELSEWHERE = ("http://", "https://", "mailto:")


@dataclass(slots=True)
class Links:
    """The links of a site; files that pages link to are collected in ``shown``."""

    repository: Repository
    generated: frozenset[str] = frozenset()  # pages that no file has, by the path of their source
    shown: set[str] = field(default_factory=set[str])

    def link(self, page: str, folder: str, text: str, target: str) -> str:
        """Return a link as HTML around its text in Markdown, as ``page`` of a language has it."""
        href = self.href(page, folder, target)
        return f'<a class="reference" href="{escape(href)}">{text}</a>'

    def href(self, page: str, folder: str, target: str) -> str:
        """Return where a link leads, from a page of the language that lies in ``folder``.

        A target that nothing answers to stays as it is: the check of the built site names it.
        """
        path, mark, anchor = target.partition("#")
        if target.startswith(_ELSEWHERE) or not path:
            return target
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
        address = self._address(wanted, folder)
        if address is None:
            return target
        here = posixpath.dirname(folder + page)
        return posixpath.relpath(address, here or ".") + mark + anchor

    def _address(self, wanted: str, folder: str) -> str | None:
        """Return the path in the site of what a path in the repository asks for."""
        if wanted.endswith(CHINESE) and wanted in self.repository.files:
            return self._page(wanted.removesuffix(CHINESE) + ".md", CHINESE_FOLDER)
        for page in (wanted, f"{wanted}/README.md", f"{wanted}/index.md"):
            if page in self.generated or page in self.repository.sources():
                return self._page(page, folder)
        if self.repository.may_show(wanted):
            self.shown.add(wanted)
            return html_of(listing_of(wanted))
        is_there = wanted in self.repository.files or any(
            file.startswith(f"{wanted}/") for file in self.repository.files
        )
        return html_of(NOT_HERE) if is_there or is_kept(f"{wanted}/") else None

    def _page(self, page: str, folder: str) -> str:
        is_there = folder and (page == "index.md" or self.repository.translated(page))
        return (folder if is_there else "") + html_of(page)


def html_of(page: str) -> str:
    """Return the path of a page in its language's folder, by that of its Markdown."""
    return page.removesuffix(".md") + ".html"


def listing_of(path: str) -> str:
    """Return the page on which a file of the repository is shown as it is."""
    return f"files/{path}.md"
