"""The desk on the web: what the class did not understand, who is missing, and what is granted."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta

import pytest
from stand_ins.sample_reports import mixed
from stand_ins.web_class import LAB, NOW, WebClass

from grader.course.database.records import GrantKind
from grader.service.domain.records import Role

Open = Callable[..., WebClass]
DUE = NOW + timedelta(hours=1)
GRANT = {"student": "s17", "lab": LAB, "reason": "was ill"}
STUDENT = "/students/s17"


def test_items_tell_who_failed_what_and_what_they_were_told(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed("keeps the dtype"))
    lesson.grade(lesson.hand_in("s18"), mixed("keeps the <b>dtype</b>"))
    browser = lesson.browser("tutor", Role.ASSISTANT)

    page = browser.get("/class/90/items").text
    rows = list(csv.DictReader(io.StringIO(browser.get("/class/90/items.csv").text)))

    assert "keeps the dtype" in page
    assert "keeps the &lt;b&gt;dtype" in page
    assert '<li><a href="/students/s18">s18</a>' in page
    assert '<a href="/class/90/items">what the class did not' in browser.get("/class/90").text
    failed = [row for row in rows if row["failed_by"]]
    assert {row["failed_by"] for row in failed} == {"s17 s18"}
    assert {row["lab"] for row in rows} == {LAB}


def test_items_are_counted_anew_where_something_is_new(lesson: WebClass) -> None:
    browser = lesson.browser("tutor", Role.ASSISTANT)
    lesson.grade(lesson.hand_in("s17"), mixed("one word"))
    before = browser.get("/class/90/items").text

    lesson.grade(lesson.hand_in("s18"), mixed("another word"))

    assert "another word" not in before
    assert "another word" in browser.get("/class/90/items").text


def test_of_a_lab_that_nobody_handed_in_there_are_no_items(lesson: WebClass) -> None:
    browser = lesson.browser("tutor", Role.ASSISTANT)

    assert browser.get("/class/91/items").status_code == 404
    assert browser.get("/class/91/items.csv").status_code == 404


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ["s17", "s18", "a/b?c#d"]),
        ("search=S1", ["s17", "s18"]),
        ("search=seventeen+STUDENT", ["s17"]),
        ("search=%3Cscript", ["s18"]),
        ("search=nobody+of+them", []),
        ("show=missing", ["s18"]),
        ("show=missing&search=s17", []),
        ("show=late", ["a/b?c#d"]),
        ("show=set+by+hand", []),
        ("show=nonsense", ["s17", "s18", "a/b?c#d"]),
    ],
)
def test_the_class_is_searched_and_filtered(open_class: Open, query: str, shown: list[str]) -> None:
    lesson = open_class(deadline=DUE, late_days=2)
    lesson.grade(lesson.hand_in("s17"), mixed())
    lesson.clock.go(hours=3)
    lesson.grade(lesson.hand_in("a/b?c#d"), mixed())

    page = lesson.browser("tutor", Role.ASSISTANT).get(f"/class?{query}").text

    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert [each for each in ("s17", "s18", "a/b?c#d") if f">{each}</a>" in table] == shown
    counts = page.partition("<tfoot>")[2]
    assert '<th scope="row">missing</th><td class="to-right">1</td>' in counts
    assert '<th scope="row">late</th><td class="to-right">1</td>' in counts
    assert '<th scope="row">with a mark</th><td class="to-right">2</td>' in counts


def test_an_extension_holds_at_once_and_is_told(open_class: Open) -> None:
    lesson = open_class(deadline=DUE)
    browser = lesson.browser("teacher", Role.INSTRUCTOR)
    until = f"{NOW + timedelta(days=3):%Y-%m-%dT%H:%M}"

    answer = browser.post("/grants", STUDENT, GRANT | {"kind": "extension", "until": until})
    lesson.clock.go(days=2)

    assert answer.status_code == 303
    assert lesson.hand_in("s17").number == 1
    [word] = lesson.books.grants()
    assert (word.kind, word.until, word.holds) == (GrantKind.EXTENSION, NOW + timedelta(days=3), 1)
    assert (word.author, word.reason) == ("teacher", "was ill")
    page = lesson.browser("teacher", Role.INSTRUCTOR).get(STUDENT).text
    assert f"{LAB}: extended to 2026-10-04 12:00" in page
    assert "by teacher on 2026-10-01 12:00" in page


def test_a_waiver_is_taken_back_by_a_row_of_its_own(open_class: Open) -> None:
    lesson = open_class(deadline=DUE)
    browser = lesson.browser("teacher", Role.INSTRUCTOR)
    waiver = GRANT | {"kind": "waiver"}

    given = browser.post("/grants", STUDENT, waiver)
    back = browser.post("/grants", STUDENT, waiver | {"take_back": "yes", "reason": "mistaken"})
    again = browser.post("/grants", STUDENT, waiver | {"take_back": "yes"})

    assert [given.status_code, back.status_code, again.status_code] == [303, 303, 422]
    assert [word.holds for word in lesson.books.grants()] == [True, False]
    assert "lateness no longer waived, by teacher" in browser.get(STUDENT).text


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"kind": "extension", "until": ""}, "an extension needs the moment until which it lasts"),
        ({"kind": "extension", "until": "soon"}, "&#39;soon&#39; is no moment"),
        ({"kind": "extension", "until": "2026-10-01T12:30"}, "s17 has time until 2026-10-01 13:00"),
        ({"kind": "extension", "until": "9999-12-31T23:59"}, "is out of range"),
        ({"kind": "gift"}, "an extension or a waiver can be granted"),
        ({"kind": "waiver", "reason": "  "}, "a grant needs a reason"),
        ({"kind": "waiver", "take_back": "yes"}, "s17 has no waiver in lab 90"),
        ({"kind": "waiver", "lab": "91"}, "lab 91 has no deadline"),
    ],
)
def test_a_wrong_grant_is_refused_with_a_line(
    open_class: Open, data: dict[str, str], told: str
) -> None:
    lesson = open_class(deadline=DUE)
    browser = lesson.browser("teacher", Role.INSTRUCTOR)

    answer = browser.post("/grants", STUDENT, GRANT | data)

    assert answer.status_code == 422
    assert told in answer.text
    assert lesson.books.grants() == []
