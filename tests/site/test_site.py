"""The site as ``make docs`` builds it, from this tree and from one with a translation in it."""

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from stand_ins.import_graph import ROOT
from stand_ins.lab_browser import browser_program

from grader.course.publishing.hidden import harmless, lines_of, public_lines, telling
from grader.labs.lab import all_labs
from grader.site.build import build_site
from grader.site.sources.repository import is_kept, read_repository

LABS = all_labs(ROOT)


class Text(HTMLParser):
    """The text of a page, line by line as code has it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(page: Path) -> str:
    parser = Text()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build_site(ROOT, folder) == []
    yield folder
    shutil.rmtree(folder)


def test_each_lab_has_a_page_and_a_handout_with_its_formulas_and_pictures_set(site: Path) -> None:
    for lab in LABS:
        page = (site / "labs" / lab.name / "index.html").read_text(encoding="utf-8")
        handout = (site / "labs" / lab.name / "README.html").read_text(encoding="utf-8")
        source = lab.handout.read_text(encoding="utf-8")

        assert all(f"<span class=\"pre\">{name}</span>" in page or name in page
                   for task in lab.tasks for name in task.functions)  # fmt: skip
        assert handout.count("<math") >= source.count("$$") // 2
        assert handout.count("<img") == source.count("](pictures/")
        assert "$$" not in text_of(site / "labs" / lab.name / "README.html")


def test_the_first_page_counts_what_is_in_the_tree(site: Path) -> None:
    text = text_of(site / "index.html")
    counted = {
        "wrong answers": len([*ROOT.glob("solutions/*/wrong/*.py")]),
        "right answers": len([*ROOT.glob("solutions/*/variants/*.py")]),
        "bugs": len([*ROOT.glob("tests/field/*/*.py")]),
        "attempts": len([*ROOT.glob("tests/exploits/*/*.py")]),
    }

    assert {words: re.search(rf"([\d,]+) {words}", text)[1] for words in counted} == {  # type: ignore[index]
        words: f"{count:,}" for words, count in counted.items()
    }


def test_nothing_that_only_instructors_may_read_is_in_the_site(site: Path) -> None:
    paths = sorted(read_repository(ROOT).files)
    files = {path: (ROOT / path).read_bytes() for path in paths if _is_compared(path)}
    hidden = {
        form: path
        for path, content in files.items()
        if is_kept(path)
        for _, line in lines_of(content)
        for form in telling(line)
    }
    # What handouts, stubs and documents show on purpose, in the repository too.
    shown = {
        form
        for path, content in files.items()
        if path.endswith(".md") and not is_kept(path)
        for _, line in lines_of(content)
        for part in (line, *line.split(" | "))
        for form in telling(part.strip("| "))
    }
    names = {name for lab in LABS for task in lab.tasks for name in task.functions}
    public = public_lines(files, []).everywhere | harmless() | shown | names
    found = [
        (page.relative_to(site).as_posix(), line, hidden[form])
        for page in sorted(site.rglob("*.html"))
        for line in text_of(page).splitlines()
        for form in telling(line) - public
        if form in hidden
    ]

    assert len(hidden) > 10_000
    assert found == []


def _is_compared(path: str) -> bool:
    is_ours = is_kept(path) or path.startswith("labs/")
    return path.endswith(".md") or (is_ours and path.endswith((".py", ".toml")))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    if browser_program() is None:
        pytest.skip("there is no Chromium here")
    with sync_api.sync_playwright() as tools:
        made = tools.chromium.launch(
            executable_path=browser_program(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield made
        made.close()


def opened(browser: Any, address: str, scheme: str) -> tuple[Any, list[str]]:
    """Open a page on a phone, and collect what its browser complains of or asks elsewhere for."""
    window = {"width": 390, "height": 800}
    page = browser.new_context(viewport=window, color_scheme=scheme).new_page()
    told: list[str] = []
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url.startswith("file:") else told.append(asked.url)
    )
    page.goto(address)
    return page, told


@pytest.mark.parametrize("path", ["docs/field", "reference/course-toml", "reference/lab"])
def test_a_page_of_wide_tables_fits_a_phone(site: Path, browser: Any, path: str) -> None:
    page, told = opened(browser, f"file://{site}/{path}.html", "light")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.context.close()

    assert wide <= 0
    assert told == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    ["index", "labs/07_flash_attention/README", "labs/06_layernorm/index", "zh/index"],
)
def test_a_page_fits_a_phone_asks_nobody_and_keeps_nobody_out(
    site: Path, browser: Any, path: str, scheme: str
) -> None:
    page, told = opened(browser, f"file://{site}/{path}.html", scheme)

    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    violations = Axe().run(page).response["violations"]
    page.context.close()

    assert wide <= 0
    assert told == []
    assert [v["nodes"] for v in violations if v["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize(
    ("folder", "words", "name"),
    [
        ("", "paged attention preemption", "labs/12_paged/index.html"),
        ("", "slip_per_lab", "reference/course-toml.html"),
        ("zh/", "评判程序", "index.html"),
    ],
)
def test_a_search_from_a_folder_finds_the_page(
    site: Path, browser: Any, folder: str, words: str, name: str
) -> None:
    page, told = opened(browser, f"file://{site}/{folder}search.html?q={words}", "light")
    page.wait_for_selector("#search-results li a", timeout=30_000)
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.pathname)")
    page.context.close()

    assert told == []
    assert f"{site}/{folder}{name}" in links
