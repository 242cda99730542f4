"""The pages of a class, in a headless browser at the width of a desktop and of a phone."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")

from stand_ins.classroom import (
    ADA,
    BOB,
    CYD,
    HOSTILE_MESSAGE,
    HOSTILE_NAME,
    LAB,
    NOON,
    after,
    attempt,
    course,
    frozen,
    override,
    report,
)

from grader.course.config import LateRule
from grader.course.database.records import Likeness, Student
from grader.course.database.store import Store
from grader.course.gradebook.class_page import class_page
from grader.course.gradebook.gradebook import Gradebook, read_gradebook
from grader.course.gradebook.overview import overview
from grader.course.gradebook.pages import write_pages

BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
WIDTHS = (1280, 390)
BAD = {"norm/a": "passed", "norm/b": "failed", "rope/a": "failed"}
WORSE = {"norm/a": "passed", "norm/b": "failed", "rope/a": "passed"}
STUB = {"norm/a": "error", "norm/b": "error", "rope/a": "error"}
LONG_WORD = "x" * 300


@pytest.fixture
def book(tmp_path: Path) -> Gradebook:
    """Ten students: late, hostile, absent, overridden, alike; two labs, the second ungraded."""
    others = [Student(f"s{n}", f"Student {n}", "", "b") for n in range(6)]
    everyone = [ADA, BOB, CYD, Student("dot.ted", LONG_WORD, "", "b"), *others]
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students(everyone)
        store.start_run(LAB, NOON)
        store.start_run("02_batching", NOON)
        for student in everyone:
            store.add_frozen(frozen(student.id, problem="gone" if student.id == "s5" else ""))
        store.add_attempt(attempt("ada", 75.0, report=report(BAD, "values differ")))
        store.add_attempt(attempt("bob", 9.0, report=report(BAD, HOSTILE_MESSAGE)))
        store.add_attempt(attempt("cyd", 75.0, submitted=after(30), report=report(WORSE, "NaN")))
        store.add_attempt(
            attempt("dot.ted", 100.0, report=report({LONG_WORD: "failed"}, LONG_WORD))
        )
        for n in range(4):
            text = "NotImplementedError: norm" if n == 3 else "values differ"
            tests = STUB if n == 3 else BAD
            store.add_attempt(attempt(f"s{n}", 20.0 * n, seconds=n, report=report(tests, text)))
        store.add_override(override("s4", 55.0, HOSTILE_MESSAGE))
        store.put_likenesses(LAB, [Likeness(LAB, "ada", "bob", True, 0.9, 0.8, 1200)])
        return read_gradebook(course(tmp_path, late=LateRule(0.1, 3)), store)


@pytest.fixture
def pages(book: Gradebook, tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    assert write_pages(book, folder) == len([*folder.rglob("*.html")]) == 19
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    program = next((path for path in BROWSERS if Path(path).is_file()), None)
    if program is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """A page in a browser, with whatever it complained of or asked the network for."""

    def __init__(self, browser: Any, file: Path, width: int) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def column(self, index: int) -> list[str]:
        cells = self.page.locator(f"table.sortable tbody tr td:nth-child({index})")
        return [text.strip() for text in cells.all_inner_texts()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "students/bob.html",
        f"students/bob/{LAB}.html",
        "students/dot.ted.html",
        f"students/dot.ted/{LAB}.html",
    ],
)
def test_a_page_fits_its_width_and_runs_nothing(
    browser: Any, pages: Path, name: str, width: int
) -> None:
    visit = Visit(browser, pages / name, width)

    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    asked = [url for url in visit.requests if not url.startswith("data:")]
    assert wide <= width
    assert visit.complaints == []
    assert asked == [(pages / name).as_uri()]
    assert visit.page.locator("main script, img[src=x]").count() == 0
    visit.page.close()


def test_pictures_are_drawn(browser: Any, pages: Path) -> None:
    visit = Visit(browser, pages / "index.html", 390)

    sizes = visit.page.evaluate(
        "[...document.images].map(i => [i.naturalWidth > 100, i.getBoundingClientRect().width])"
    )
    assert len(sizes) == 3
    assert all(loaded and 250 < width <= 390 for loaded, width in sizes)
    visit.page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_sorts_by_the_column_that_is_pressed(
    browser: Any, pages: Path, width: int
) -> None:
    visit = Visit(browser, pages / "index.html", width)
    roster = visit.column(1)

    visit.page.get_by_role("button", name=LAB).click()
    rising = visit.column(3)
    visit.page.get_by_role("button", name=LAB).click()
    falling = visit.column(3)
    visit.page.get_by_role("button", name="Id", exact=True).click()

    assert roster[:3] == ["ada", "bob", "cyd"]
    assert rising == ["0", "9", "20", "40", "55!", "60", "67.5*", "75", "100", "-"]
    assert falling == ["100", "75", "67.5*", "60", "55!", "40", "20", "9", "0", "-"]
    assert visit.column(1) == sorted(roster)
    assert visit.page.locator("th[aria-sort=ascending]").inner_text().startswith("Id")
    assert visit.complaints == []
    visit.page.close()


def test_every_link_leads_to_a_page_that_is_there(browser: Any, pages: Path) -> None:
    for file in pages.rglob("*.html"):
        for target in re.findall(r'href="([^"#]+)"', file.read_text(encoding="utf-8")):
            assert (file.parent / target).is_file(), f"{file.name}: {target}"

    visit = Visit(browser, pages / "index.html", 1280)
    visit.page.get_by_role("link", name="bob").click()
    assert visit.page.locator("h1").inner_text() == HOSTILE_NAME.replace("\u202e", "\\u202e")
    visit.page.get_by_role("link", name=LAB).click()
    assert "Lab 01" in visit.page.locator("h1").inner_text()
    assert visit.complaints == []
    visit.page.close()


def test_what_is_hostile_stands_in_no_page_unescaped(pages: Path) -> None:
    for file in pages.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\u202e" not in text
        assert "<b>friends" not in text
        assert not re.search(r'(src|href)="(?!data:|#|students/|[\w@.+-]+/[\w.]+\.html)', text)


def test_a_students_page_says_where_each_mark_comes_from(pages: Path) -> None:
    text = (pages / "students" / "s4.html").read_text(encoding="utf-8")

    assert "set to 55 by A. Teacher on 2026-10-03 04:00 UTC: &lt;script&gt;" in text
    assert "nothing was graded" in (pages / "students" / "s5.html").read_text(encoding="utf-8")


def test_no_student_sees_another(pages: Path) -> None:
    for file in (pages / "students").rglob("*.html"):
        if "ada" not in file.parts and file.stem != "ada":
            assert "Ada L." not in file.read_text(encoding="utf-8")


def test_a_class_is_counted_right(book: Gradebook) -> None:
    found = overview(book, LAB)

    assert (found.students, len(found.points), found.missing, found.untouched) == (10, 9, 1, 1)
    first = found.failing[0]
    assert (first.test, first.task, first.students) == ("test_norm/b", "norm", 6)
    assert (first.message, first.told) == ("values differ", 4)
    assert {(task.name, task.all, task.some, task.none) for task in found.tasks} == {
        ("norm", 0, 6, 2),
        ("rope", 1, 0, 7),
    }
    assert max(found.seconds) == 9.5


def test_the_class_page_of_a_class_without_any_grade_stands(tmp_path: Path) -> None:
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([ADA])
        text = class_page(read_gradebook(course(tmp_path), store))

    assert "1 student, 0 labs" in text
    assert "<table" in text


def test_of_many_remarks_the_class_page_lists_some_and_says_how_many(
    book: Gradebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.course.gradebook.class_page.MOST_LISTED", 2)
    told = {(name, LAB): f"{HOSTILE_MESSAGE} of {name}" for name in ("ada", "bob", "cyd", "gone")}

    page = class_page(replace(book, remarks=told))

    assert "Look at what was collected: 3 remarks" in page
    assert "<p>and 1 more: <code>--csv long</code> has all</p>" in page
    assert page.count(f"{html.escape(HOSTILE_MESSAGE)} of ") == 2
    assert HOSTILE_MESSAGE not in page
