"""A team's hand-ins: each of it sees them and has their mark, and nobody else does."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from stand_ins.sample_reports import mixed
from stand_ins.web_class import CODE, LAB, NOW, OTHER, WebClass

from grader.course.database.records import Grant, GrantKind
from grader.course.policy import Feedback

Open = Callable[..., WebClass]
TEAMS = {("s17", 90): ("s17", "s18"), ("s18", 90): ("s17", "s18")}
OUTSIDER = "a/b?c#d"
PLACES = ("", "/events", "/files/echo.py", "/diff")


@pytest.fixture
def lesson(open_class: Open) -> WebClass:
    """A class in which two hand lab 90 in together; s18 has handed it in twice."""
    lesson = open_class(teams=TEAMS)
    lesson.hand_in("s18", code=b"x = 1\n")
    lesson.grade(lesson.hand_in("s18"), mixed())
    return lesson


def test_each_of_a_team_sees_what_was_handed_in(lesson: WebClass) -> None:
    browser = lesson.browser("s17")

    page, attempt = browser.get("/labs/90").text, browser.get("/attempts/2").text

    assert "You hand this lab in together with s18: what one of you hands in counts" in page
    assert '<a href="/attempts/2">2</a></td><td>s18</td>' in page
    assert "handed in by s18, for your team" in attempt
    assert browser.get("/attempts/2/files/echo.py").content == CODE
    assert browser.get("/attempts/2/diff").status_code == 200
    found = lesson.bearer("s17").get("/api/labs/90/hand-ins").json()["hand_ins"]
    assert [item["number"] for item in found] == [1, 2]


def test_each_of_a_team_has_the_mark(lesson: WebClass) -> None:
    own, other = lesson.browser("s18").get("/").text, lesson.browser("s17").get("/").text

    assert '<p class="score">10 points in all</p>' in own
    assert '<p class="score">10 points in all</p>' in other
    assert "handed in by s18, for their team" in other
    assert "for their team" not in own


def test_nobody_else_sees_it(lesson: WebClass) -> None:
    browser = lesson.browser(OUTSIDER)

    assert [browser.get(f"/attempts/2{place}").status_code for place in PLACES] == [404] * 4
    assert "together" not in browser.get("/labs/90").text
    assert lesson.bearer(OUTSIDER).get("/api/hand-ins/2").status_code == 404


def test_other_labs_are_each_ones_own(lesson: WebClass) -> None:
    lesson.hand_in("s18", lab=OTHER)

    browser = lesson.browser("s17")
    assert browser.get("/attempts/3").status_code == 404
    assert "together" not in browser.get("/labs/91").text


def test_nobody_learns_more_while_one_of_the_team_has_time(open_class: Open) -> None:
    due = NOW + timedelta(hours=1)
    levels = {"feedback": Feedback.POINTS, "feedback_after": Feedback.MESSAGES}
    lesson = open_class(teams=TEAMS, deadline=due, **levels)
    said = {"author": "A. Teacher", "reason": "ill", "made": NOW}
    until = due + timedelta(days=1)
    lesson.books.add_grant(Grant("s18", LAB, GrantKind.EXTENSION, until, True, **said))
    lesson.grade(lesson.hand_in("s17"), mixed("keeps the dtype"))

    lesson.clock.go(hours=2)
    before = lesson.browser("s17").get("/attempts/1").text
    lesson.clock.go(days=2)
    after = lesson.browser("s17").get("/attempts/1").text

    assert "keeps the dtype" not in before
    assert "keeps the dtype" in after
