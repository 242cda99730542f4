"""The Markdown that Sphinx reads: copies with links that hold on the site, and written pages."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.translations.pages import told
from grader.languages.language import Language, speaking
from grader.site.contents import HANDOUT, contents, toctree
from grader.site.sources.links import (
    CHINESE_FOLDER,
    ENGLISH,
    NOT_HERE,
    Links,
    html_of,
    listing_of,
)
from grader.site.sources.markdown import rewritten, unbroken
from grader.site.sources.repository import Repository, is_kept
from grader.site.written.cards import card
from grader.site.written.commands import command_page, target_page
from grader.site.written.course_keys import course_keys_page
from grader.site.written.front import front_page

FOLDERS = {"en": ENGLISH, "zh": CHINESE_FOLDER}
EXAMPLES = ("docs/course.md", "docs/service.md")  # that explain course.toml
LEXERS = {".py": "python", ".toml": "toml", ".conf": "nginx", ".def": "bash", ".md": "markdown"}
_ORPHAN = "---\norphan: true\n---\n\n"
_NOT_HERE = (
    "# Not on this site\n\nHidden suites, model answers, right variants and wrong answers, "
    "oracles, field bugs and exploits are read by instructors alone, in their clone of the "
    "repository; there lies too what only developers open, such as tests of the judge.\n"
)


@dataclass(frozen=True, slots=True)
class Staged:
    """The pages of a language, by their paths, as Markdown; and the pictures that they show."""

    language: str
    pages: Mapping[str, str]
    pictures: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """The names of the pages, without an ending, as Sphinx has them."""
        return frozenset(page.removesuffix(".md") for page in self.pages)

    def write(self, repository: Repository, folder: Path) -> None:
        """Write all of it into a new folder."""
        for page, text in self.pages.items():
            file = folder / page
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for picture in self.pictures:
            if is_kept(picture):
                raise UsageError(f"{picture} is no part of the site: only instructors may see it")
            target = folder / picture
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(repository.root / picture, target)


def stage(repository: Repository, labs: Sequence[Lab]) -> tuple[Staged, Staged]:
    """Return the English pages and the Chinese ones, of which there may be few."""
    written = _written(repository, labs)
    links = Links(repository, frozenset({*written, "index.md"}))
    english = {path: repository.text(path) for path in repository.sources()} | written
    found = {path: repository.translated(path) for path in repository.sources()}
    chinese = {
        path: told(repository.text(path), repository.text(beside))
        for path, beside in found.items()
        if beside
    }
    with speaking(Language.CHINESE):
        chinese |= _cards(repository, [lab for lab in labs if _handout(lab) in chinese])
    one = _staged("en", english, repository, labs, links)
    other = _staged("zh", chinese, repository, labs, links)
    listings = {listing_of(path): _listing(repository, path) for path in sorted(links.shown)}
    hidden = {NOT_HERE: _ORPHAN + _NOT_HERE}
    return Staged("en", {**one.pages, **listings, **hidden}, one.pictures), other


def _written(repository: Repository, labs: Sequence[Lab]) -> dict[str, str]:
    """Write the pages that no file has."""
    documents = {path: repository.text(path) for path in EXAMPLES}
    return {
        "reference/lab.md": command_page(),
        "reference/make.md": target_page(repository.text("Makefile")),
        "reference/course-toml.md": course_keys_page(documents),
        **_cards(repository, labs),
    }


def _cards(repository: Repository, labs: Sequence[Lab]) -> dict[str, str]:
    """Write the pages of labs in the language that is spoken."""
    return {f"labs/{lab.name}/index.md": card(lab, repository) for lab in labs}


def _handout(lab: Lab) -> str:
    return f"labs/{lab.name}/README.md"


def _staged(
    language: str,
    texts: Mapping[str, str],
    repository: Repository,
    labs: Sequence[Lab],
    links: Links,
) -> Staged:
    folder = FOLDERS[language]
    pictures: set[str] = set()
    pages: dict[str, str] = {}
    front = {"index.md": front_page(language, labs, repository)}
    for page, text in {**texts, **front}.items():

        def link(words: str, target: str, page: str = page) -> str:
            return links.link(page, folder, words, target)

        def picture(alt: str, file: str, page: str = page) -> str:
            path = (Path(page).parent / file).as_posix()
            if path in repository.files:
                pictures.add(path)
            return f"![{alt}]({file})"

        made = rewritten(text, link, picture)
        pages[page] = unbroken(made) if folder else made
    names = [page.removesuffix(".md") for page in pages]
    pages["index.md"] += contents(language, labs, names)
    for lab in labs:
        if {f"labs/{lab.name}/index", f"labs/{lab.name}/README"} <= {*names}:
            pages[f"labs/{lab.name}/index.md"] += toctree(
                "", [f"{HANDOUT[language]} </labs/{lab.name}/README>"]
            )
    return Staged(language, pages, frozenset(pictures))


def _listing(repository: Repository, path: str) -> str:
    """Show a file of the repository as it is."""
    text = repository.text(path)
    fence = "`" * 4
    while fence in text:
        fence += "`"
    lexer = LEXERS.get(Path(path).suffix, "text")
    return f"{_ORPHAN}# {path}\n\n{fence}{lexer}\n{text.rstrip()}\n{fence}\n"


def others(one: Staged, other: Staged) -> dict[str, str]:
    """Say of each page that both languages have where that of ``other`` lies, seen from ``one``."""
    return {
        name: links_between(one.language, name, other.language) for name in one.names & other.names
    }


def links_between(language: str, name: str, other: str) -> str:
    """Return the way from a page to that of the same name in another language."""
    up = "../" * (FOLDERS[language] + name).count("/")
    return up + FOLDERS[other] + html_of(f"{name}.md")
