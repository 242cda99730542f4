"""Requests on the web: a student asks, staff answer once, and both see old, new and why."""

from typing import Any

import pytest
from stand_ins.sample_reports import mixed, report_of, result
from stand_ins.web_class import LAB, Browser, WebClass

from grader.course.database.giving.records import Hold
from grader.course.database.records import Decision, Kind
from grader.course.policy import Feedback
from grader.labs.results import Report, Verdict
from grader.service.domain.records import Role

WHY = "I think that <b>rope</b> is right:\nsee line 3"
TEST = "rope: test_rope[3-7]"


def passed() -> Report:
    tests = [result(task, Verdict.PASSED) for task in ("norm", "rope")]
    tests.append(result("speed", Verdict.NOT_GRADED, "needs a GPU"))
    return report_of(*tests, score={"norm": 10.0, "rope": 20.0}, provenance={"seed": 7})


def first() -> Report:
    found = mixed()
    return report_of(*found.tests, score={"norm": 10.0}, provenance={"seed": 5})


@pytest.fixture
def ada(lesson: WebClass) -> Browser:
    """The browser of s17, whose first attempt has 10 points; s18 has an attempt too."""
    lesson.grade(lesson.hand_in("s17"), first())
    lesson.grade(lesson.hand_in("s18"), first())
    return lesson.browser("s17")


@pytest.fixture
def boss(lesson: WebClass) -> Browser:
    return lesson.browser("boss", Role.INSTRUCTOR)


def ask(browser: Browser, choice: str = "rope", reason: str = WHY, count: int = 1) -> Any:
    form = {"choice": choice, "reason": reason}
    return browser.post(f"/attempts/{count}/requests", "/queue", form)


def answer(browser: Browser, number: int = 1, **form: str) -> Any:
    return browser.post(f"/requests/{number}/answer", "/queue", {"text": "Looked at.", **form})


def test_a_student_asks_and_staff_are_one_click_from_the_attempt(
    ada: Browser, boss: Browser
) -> None:
    assert TEST in ada.get("/attempts/1").text

    assert ask(ada, TEST).headers["location"] == "/attempts/1#requests"

    listed = boss.get("/requests").text
    assert 'href="/attempts/1#request-1"' in listed
    assert "I think that &lt;b&gt;rope&lt;/b&gt; is right:<br>see line 3" in listed
    assert 'action="/requests/1/answer"' in boss.get("/attempts/1").text
    own = ada.get("/requests").text
    assert "Request 1: rope, test_rope[3-7]" in own
    assert ">open<" in own


def test_the_oldest_that_is_open_stands_first(ada: Browser, boss: Browser) -> None:
    ask(ada, "rope")
    ask(ada, "norm")
    answer(boss, 1)

    ask(ada, "rope", "once more, please")

    page = boss.get("/requests").text
    places = [page.index(f"Request {number}:") for number in (2, 3, 1)]
    assert places == sorted(places)


def test_words_alone_answer_a_request_once(ada: Browser, boss: Browser, lesson: WebClass) -> None:
    ask(ada)

    assert answer(boss, text="It is <wrong>.").status_code == 303

    page = ada.get("/attempts/1").text
    assert "It is &lt;wrong&gt;." in page
    assert "boss, 2026-10-01" in page
    assert "No points were changed." in page
    again = answer(boss, text="Or not.", points="90")
    assert again.status_code == 422
    assert "answered already" in again.text
    assert lesson.books.overrides() == []


def test_a_correction_shows_old_new_and_why_to_both(
    ada: Browser, boss: Browser, lesson: WebClass
) -> None:
    ask(ada)

    answer(boss, text="You are right.", points="25")

    row = '<tr><td>mark</td><td class="to-right">10</td><td class="to-right">25</td></tr>'
    for browser in (ada, boss):
        page = browser.get("/attempts/1").text
        assert row in page
        assert "You are right." in page
    assert [(word.points, word.reason) for word in lesson.books.overrides()] == [
        (25.0, "request 1: You are right.")
    ]
    assert "25 / 30" in ada.get("/").text


@pytest.mark.parametrize(("again", "seed"), [("same", 5), ("other", None)])
def test_an_attempt_is_graded_again_and_counts_once_published(
    ada: Browser, boss: Browser, lesson: WebClass, again: str, seed: int | None
) -> None:
    ask(ada)

    answer(boss, again=again)

    [item] = lesson.store.regradings.of_run("2")
    assert (item.student, item.commit, item.seed) == ("s17", "handin-1", seed)
    assert lesson.regrade_next(passed())
    row = '<tr><td>rope</td><td class="to-right">0</td><td class="to-right">20</td></tr>'
    assert row not in ada.get("/attempts/1").text
    assert "it is graded again" in ada.get("/attempts/1").text
    assert row in boss.get("/attempts/1").text
    word = Decision("2", Kind.PUBLISHED, "boss", "it is right", lesson.clock.now())
    assert lesson.store.regradings.decide(word)
    page = ada.get("/attempts/1").text
    assert row in page
    assert '<td class="to-right">10</td><td class="to-right">30</td>' in page


def test_of_a_grading_that_was_discarded_the_student_reads_that_alone(
    ada: Browser, boss: Browser, lesson: WebClass
) -> None:
    ask(ada)
    answer(boss, again="other")
    lesson.regrade_next(passed())

    word = Decision("2", Kind.DISCARDED, "boss", "a slip", lesson.clock.now())
    lesson.store.regradings.decide(word)

    page = ada.get("/attempts/1").text
    assert "that grading does not count" in page
    assert ">20<" not in page.split('id="requests"')[1]


def test_a_student_withdraws_and_may_ask_anew(ada: Browser, boss: Browser) -> None:
    ask(ada)
    assert "is open already" in ask(ada).text

    assert ada.post("/requests/1/withdraw", "/queue").status_code == 303

    assert ">withdrawn<" in ada.get("/requests").text
    assert "withdrawn already" in answer(boss).text
    assert ask(ada).status_code == 303


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"reason": "too short"}, "10 to 2000 characters, this one 9"),
        ({"reason": "x" * 2001}, "10 to 2000 characters, this one 2001"),
        ({"choice": "speed"}, "choose what"),
        ({"choice": "rope: test_other"}, "choose what"),
        ({"choice": ""}, "choose what"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    ada: Browser, lesson: WebClass, form: dict[str, str], told: str
) -> None:
    refused = ask(ada, **form)

    assert refused.status_code == 422
    assert told in refused.text
    assert lesson.store.returns.asked() == []


def test_what_a_student_may_not_see_cannot_be_asked_about(open_class: Any) -> None:
    lesson: WebClass = open_class(feedback=Feedback.POINTS)
    lesson.grade(lesson.hand_in("s17"), first())
    browser = lesson.browser("s17")

    assert "test_rope" not in browser.get("/attempts/1").text
    assert ask(browser, TEST).status_code == 422
    assert ask(browser, "rope").status_code == 303


def test_the_days_to_ask_end(ada: Browser, lesson: WebClass) -> None:
    lesson.clock.go(days=7, seconds=-1)
    ada = lesson.browser("s17")
    assert "looked at again" in ada.get("/attempts/1").text

    lesson.clock.go(seconds=2)

    assert "looked at again" not in ada.get("/attempts/1").text
    refused = ask(ada)
    assert refused.status_code == 422
    assert "were taken until 2026-10-08" in refused.text


def test_a_course_may_take_no_requests(open_class: Any) -> None:
    lesson: WebClass = open_class(requests_days=0)
    lesson.grade(lesson.hand_in("s17"), first())

    refused = ask(lesson.browser("s17"))

    assert "takes no requests" in refused.text


def test_nobody_reaches_the_requests_of_others(ada: Browser, lesson: WebClass) -> None:
    ask(ada)
    other, tutor = lesson.browser("s18"), lesson.browser("tutor", Role.ASSISTANT)

    assert "Request 1" not in other.get("/requests").text
    assert ask(other, count=1).status_code == 404
    assert other.post("/requests/1/withdraw", "/queue").status_code == 404
    assert answer(other).status_code == 404
    assert tutor.post("/requests/1/withdraw", "/queue").status_code == 404
    assert answer(tutor, points="20").status_code == 404
    assert answer(tutor, number=99).status_code == 404
    assert answer(tutor).status_code == 303


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"text": " "}, "an answer has words"),
        ({"again": "maybe"}, "same seed or another"),
        ({"points": "many"}, "from 0 to 200"),
        ({"points": "20", "again": "same"}, "choose one of them"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(
    ada: Browser, boss: Browser, lesson: WebClass, form: dict[str, str], told: str
) -> None:
    ask(ada)

    refused = answer(boss, **form)

    assert refused.status_code == 422
    assert told in refused.text
    assert [each.answer for each in lesson.store.returns.asked()] == [None]


def test_what_came_of_it_is_held_back_with_the_verdict(
    ada: Browser, boss: Browser, lesson: WebClass
) -> None:
    ask(ada)
    answer(boss, text="It is worth 25.", points="25")

    lesson.store.returns.add_hold(Hold("s17", LAB, True, "boss", "x", lesson.clock.now()))

    for page in ("/requests", "/attempts/1"):
        text = ada.get(page).text
        assert "25" not in text.split('id="content"')[1]
        assert "held back by the course" in text
    assert "there is no verdict" in ask(ada, "norm").text
