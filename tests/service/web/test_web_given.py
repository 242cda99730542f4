"""Secret addresses of reports: read without signing in, by who has one, until it is revoked."""

import pytest
from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import LAB, WebClass

from grader.course.database.giving.records import Address, Hold
from grader.course.policy import Feedback
from grader.service.adapters.web.gate.rates import Buckets, Limits
from grader.service.core.door import hashed

SECRET = "s" * 43
PAGE = f"/given/{SECRET}"
WORD = "words of the verdict"


def give(lesson: WebClass) -> None:
    now = lesson.clock.now()
    lesson.store.returns.add_address(Address(hashed(SECRET), "s17", LAB, "G. Hopper", now))


@pytest.fixture
def given(lesson: WebClass) -> WebClass:
    """s17 and s18 were graded, and s17's report has an address."""
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    lesson.grade(lesson.hand_in("s18"), mixed("words of another"))
    give(lesson)
    return lesson


def test_who_has_the_address_reads_the_report_and_can_do_nothing(given: WebClass) -> None:
    answer = given.client().get(PAGE)

    assert answer.status_code == 200
    assert WORD in answer.text
    assert "words of another" not in answer.text
    assert "10 / 30" in answer.text
    assert "<form" not in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "noindex" in answer.headers["x-robots-tag"]
    assert answer.headers["cache-control"] == "no-store"
    assert given.client().post(PAGE).status_code == 405


def test_pictures_come_by_the_address_alone(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), measured(speed_entry("a"), speed_entry("b")))
    give(lesson)
    client = lesson.client()
    assert f"{PAGE}/pictures/0.svg" in client.get(PAGE).text

    answer = client.get(f"{PAGE}/pictures/0.svg")

    assert answer.status_code == 200
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get(f"{PAGE}/pictures/99.svg").status_code == 404
    assert client.get(f"/given/{'t' * 43}/pictures/0.svg").status_code == 404


def test_it_shows_what_the_student_may_see(open_class: object) -> None:
    lesson: WebClass = open_class(feedback=Feedback.POINTS)  # type: ignore[operator]
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    give(lesson)

    page = lesson.client().get(PAGE).text

    assert "10 / 30" in page
    assert WORD not in page


def test_a_revoked_address_is_as_one_that_never_was(given: WebClass) -> None:
    given.store.returns.revoke(LAB, ["s17"], given.clock.now())

    revoked, never = given.client().get(PAGE), given.client().get(f"/given/{'t' * 43}")

    assert (revoked.status_code, revoked.text) == (404, never.text)


def test_what_is_held_back_is_not_there(given: WebClass) -> None:
    word = Hold("s17", LAB, True, "G. Hopper", "to be talked about", given.clock.now())

    given.store.returns.add_hold(word)

    page = given.client().get(PAGE).text
    assert WORD not in page
    assert "10 / 30" not in page
    assert "held back by the course, ask your instructor" in page
    assert "G. Hopper" not in page
    assert given.client().get(f"{PAGE}/pictures/0.svg").status_code == 404


def test_who_tries_many_addresses_is_slowed_down(open_class: object) -> None:
    limits = Limits(failures=Buckets(0.001, 3))
    lesson: WebClass = open_class(limits=limits)  # type: ignore[operator]
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    give(lesson)
    client = lesson.client()

    tried = [client.get(f"/given/{at:043d}").status_code for at in range(5)]

    assert tried == [404, 404, 404, 429, 429]
    assert client.get(PAGE).status_code == 429
