"""What is held back goes out by no page, no event and no answer of the API; staff see why."""

import re

import pytest
from stand_ins.sample_reports import measured, mixed, speed_entry
from stand_ins.web_class import LAB, WebClass

from grader.course.database.giving.records import HELD_BACK, Hold
from grader.service.domain.records import Alias, Role

WORD = "words of the verdict"


def held(lesson: WebClass, student: str = "s17", *, holds: bool = True) -> None:
    word = Hold(student, LAB, holds, "G. Hopper", "<b>to be talked about</b>", lesson.clock.now())
    lesson.store.returns.add_hold(word)


def seen_by(lesson: WebClass, student: str) -> str:
    """Everything that a student can read of the first hand-in."""
    browser, client = lesson.browser(student), lesson.bearer(student)
    pages = ["/", "/labs/90", "/attempts/1", "/attempts/1/events"]
    paths = ["/api/labs/90/hand-ins", "/api/hand-ins/1", "/api/hand-ins/1/events"]
    texts = [browser.get(path).text for path in pages]
    return "\n".join(texts + [client.get(path).text for path in paths])


def test_nothing_of_a_verdict_that_is_held_back_goes_out(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    before = seen_by(lesson, "s17")
    assert WORD in before
    assert re.search(r"10 / 30|\"points\": ?10", before)

    held(lesson)

    after = seen_by(lesson, "s17")
    assert WORD not in after
    assert not re.search(r"10 / 30|\"points\": ?10|10 of 30|rope", after)
    assert "G. Hopper" not in after
    assert after.count(HELD_BACK) >= 4
    assert lesson.browser("s17").get("/attempts/1/pictures/0.svg").status_code == 404


def test_what_is_released_goes_out_again(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    before = seen_by(lesson, "s17")
    held(lesson)

    held(lesson, holds=False)

    assert seen_by(lesson, "s17").count(WORD) == before.count(WORD)


def test_staff_see_all_of_it_and_who_holds_it_back(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))
    held(lesson)

    tutor = lesson.browser("tutor", Role.ASSISTANT)
    page = tutor.get("/attempts/1").text
    assert WORD in page
    assert "G. Hopper: &lt;b&gt;to be talked about&lt;/b&gt;" in page
    assert "&lt;b&gt;to be talked about&lt;/b&gt;" in tutor.get("/students/s17").text


def test_others_keep_theirs(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed(WORD))

    held(lesson, "s18")

    assert WORD in seen_by(lesson, "s17")


@pytest.mark.parametrize("holds", [True, False])
def test_a_board_has_no_entry_of_who_is_held_back(lesson: WebClass, holds: bool) -> None:
    lesson.grade(lesson.hand_in("s17"), measured(speed_entry("a")))
    lesson.store.put_alias(Alias("s17", LAB, "Swift"))
    held(lesson, holds=holds)

    page = lesson.browser("s18").get("/board/90").text

    assert ("Swift" not in page) == holds
