"""Regrades on the web: staff see what one changes before it counts, students see none before."""

import re

import pytest
from stand_ins.sample_reports import mixed, report_of, result
from stand_ins.web_class import LAB, Browser, WebClass

from grader.course.database.records import Kind
from grader.labs.results import Report, Verdict
from grader.service.domain.records import Role, State
from grader.service.domain.turns import LATELY

WORD = "words of the new test"


def passed() -> Report:
    """A report with all points that there are without a GPU."""
    tests = [result(task, Verdict.PASSED) for task in ("norm", "rope")]
    tests.append(result("speed", Verdict.NOT_GRADED, "needs a GPU"))
    return report_of(*tests, score={"norm": 10.0, "rope": 20.0})


@pytest.fixture
def tutor(lesson: WebClass) -> Browser:
    """An assistant's browser; s17 and s18 have all points."""
    for student in ("s17", "s18"):
        lesson.grade(lesson.hand_in(student), passed())
    return lesson.browser("tutor", Role.ASSISTANT)


def seen_by(lesson: WebClass, student: str, number: int) -> list[str]:
    """Everything that a student can read of a hand-in."""
    browser, client = lesson.browser(student), lesson.bearer(student)
    pages = ["/", "/labs/90", f"/attempts/{number}", "/queue", "/board/90"]
    paths = ["/api/labs/90/hand-ins", f"/api/hand-ins/{number}"]
    texts = [re.sub(r'name="csrf" value="[^"]+"', "", browser.get(path).text) for path in pages]
    return texts + [client.get(path).text for path in paths]


def test_a_class_is_regraded_from_its_labs_page(lesson: WebClass, tutor: Browser) -> None:
    assert "Regrade the class" in tutor.get("/class/90").text

    answer = tutor.post("/regrades", "/class/90", {"lab": LAB, "reason": "a test was <wrong>"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs/2")
    page = tutor.get("/runs/2").text
    assert "0 of 2 pieces of work graded" in page
    assert "a test was &lt;wrong&gt;" in page
    assert "tutor, 2026-10-01" in page
    assert ">Publish<" not in page
    assert ">Discard<" in page
    assert "0 of 2 graded" in tutor.get("/class/90").text


def test_a_student_is_regraded_from_their_page(lesson: WebClass, tutor: Browser) -> None:
    form = {"lab": LAB, "student": "s18", "reason": "asked for it"}

    answer = tutor.post("/regrades", "/students/s18", form)

    run = answer.headers["location"].rpartition("/")[2]
    assert [item.student for item in lesson.store.regradings.of_run(run)] == ["s18"]
    assert f"/runs/{run}" in tutor.get("/students/s18").text
    assert f"/runs/{run}" not in tutor.get("/students/s17").text


def test_the_difference_is_shown_before_it_counts_and_then_it_counts(
    lesson: WebClass, tutor: Browser
) -> None:
    before = seen_by(lesson, "s18", 2)
    run = lesson.regrade("s18", mixed(WORD))

    page = tutor.get(f"/runs/{run}").text
    assert "0 earn more, 1 less" in page
    assert "rope 20 → 0" in page
    assert "test_rope[3-7]: passed → failed" in page
    assert "/attempts/2" in page
    assert "1 of 1 pieces of work graded" in page
    assert seen_by(lesson, "s18", 2) == before
    assert WORD not in tutor.get("/attempts/2").text

    form = {"what": "published", "reason": "checked by hand"}
    assert tutor.post(f"/runs/{run}", f"/runs/{run}", form).status_code == 303

    page = tutor.get(f"/runs/{run}").text
    assert "It counts" in page
    assert "checked by hand" in page
    assert ">Publish<" not in page
    assert WORD in lesson.browser("s18").get("/attempts/2").text
    assert [said.author for said in lesson.store.regradings.decisions(run)] == ["tutor", "tutor"]


def test_what_is_discarded_never_counts(lesson: WebClass, tutor: Browser) -> None:
    before = seen_by(lesson, "s18", 2)
    run = lesson.regrade("s18", mixed(WORD))

    form = {"what": "discarded", "reason": "the new test is wrong too"}
    assert tutor.post(f"/runs/{run}", f"/runs/{run}", form).status_code == 303

    assert "It was discarded" in tutor.get(f"/runs/{run}").text
    assert seen_by(lesson, "s18", 2) == before
    assert lesson.store.regradings.decisions(run)[-1].kind is Kind.DISCARDED


def test_what_is_held_by_our_fault_is_shown_and_graded_again(
    lesson: WebClass, tutor: Browser
) -> None:
    tutor.post("/regrades", "/class/90", {"lab": LAB, "student": "s17", "reason": "why not"})
    item = lesson.store.regradings.claim("w", "cpu", lesson.clock.now(), LATELY)
    assert item is not None
    lesson.store.regradings.fail(item.number, "w", "the <disk> is full", lesson.clock.now(), 1)

    page = tutor.get("/runs/2").text
    assert "the &lt;disk&gt; is full" in page
    assert tutor.post("/runs/2", "/runs/2", {"what": "again"}).status_code == 303

    assert lesson.store.regradings.counts() == {State.WAITING: 1}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"what": "published"}, "needs a reason"),
        ({"what": "published", "reason": "x" * 4001}, "at most 4000"),
        ({"what": "eaten", "reason": "x"}, "published or discarded"),
        ({"what": "again"}, "nothing of run"),
        ({"what": "asked", "reason": "x"}, "published or discarded"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(
    lesson: WebClass, tutor: Browser, form: dict[str, str], told: str
) -> None:
    run = lesson.regrade("s18", mixed(WORD))

    answer = tutor.post(f"/runs/{run}", f"/runs/{run}", form)

    assert answer.status_code == 422
    assert told in answer.text
    assert len(lesson.store.regradings.decisions(run)) == 1


def test_a_run_that_is_no_regrade_has_no_page(lesson: WebClass, tutor: Browser) -> None:
    for run in ("1", "0", "-1", "9" * 30, "x"):
        assert tutor.get(f"/runs/{run}").status_code == 404
