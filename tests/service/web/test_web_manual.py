"""A lab that people grade at the service: handed in, waiting, read by a rubric, and a mark."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins.manual_lab import DESIGN, NAME, NOTES, OWN, work, write_manual_lab
from stand_ins.service_pump import FakeEngine
from stand_ins.web_class import WebClass, csrf_of

from grader.course.database.giving.records import HELD_BACK, Hold
from grader.course.gradebook.exports import canvas_csv, long_csv
from grader.course.policy import Feedback
from grader.labs.lab import Lab
from grader.service.core import pump as module
from grader.service.core.pump import Pump, Way
from grader.service.domain.records import HandIn, Origin, Role, State, Who

Open = Callable[..., WebClass]
WAITS = "waiting for a reader"


@pytest.fixture
def design(tmp_path: Path) -> Lab:
    return write_manual_lab(tmp_path / "instructors")


@pytest.fixture
def lesson(open_class: Open, design: Lab, monkeypatch: pytest.MonkeyPatch) -> WebClass:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    return open_class(more=[design], requests_days=7)


def take(lesson: WebClass, student: str = "s17", **changes: str) -> HandIn:
    lab = lesson.site.desk.lab(NAME)
    files = work(**changes)
    return lesson.site.desk.take(Who(student, Role.STUDENT), lab, files, Origin.TERMINAL)


def pump(lesson: WebClass) -> FakeEngine:
    """Let a pump take all that waits; nothing may reach its engine."""
    engine = FakeEngine()
    running = Pump(lesson.site.desk, lesson.store, lesson.clock, Way("pump"))
    engine.idle = running.stop
    running.run(engine)
    return engine


def put(lesson: WebClass, student: str = "s17") -> HandIn:
    item = take(lesson, student)
    assert pump(lesson).ended == []
    found = lesson.store.hand_in(item.number)
    assert found is not None
    return found


def files_of(**changes: str) -> list[tuple[str, tuple[str, bytes]]]:
    return [("files", (name, text)) for name, text in work(**changes).items()]


def read(lesson: WebClass, item: HandIn, *, to_the_end: bool = True) -> None:
    """Read as staff do: by the rubric, and the notes by hand."""
    tutor = lesson.browser("tutor", Role.ASSISTANT)
    address = f"/attempts/{item.number}/code"
    key = {"student": item.student, "commit": item.key}
    for criterion, points in (("decision", "40"), ("numbers", "15")):
        form = {**key, "criterion": criterion, "points": points, "what": "score"}
        assert tutor.post("/reading/94/scores", address, form).status_code == 303
    if to_the_end:
        hopper = lesson.browser("hopper", Role.INSTRUCTOR)
        form = {**key, "task": "notes", "points": "30", "reason": "good"}
        assert hopper.post("/reading/94/points", address, form).status_code == 303


def test_its_page_asks_for_its_files(lesson: WebClass) -> None:
    page = lesson.browser("s17").get("/labs/94").text

    assert "<code>DESIGN.md</code>, <code>notes.txt</code>, chosen together" in page
    assert "People read what you hand in; no test gives points." in page
    assert "PSEUDOCODE.md" not in page


def test_a_form_hands_in_all_of_its_files(lesson: WebClass) -> None:
    browser = lesson.browser("s17")
    csrf = csrf_of(browser.get("/labs/94").text)
    parts = [("code", part) for _, part in files_of()]

    answer = browser.client.post("/labs/94/hand-ins", data={"csrf": csrf}, files=parts)

    assert answer.headers["location"] == "/attempts/1"
    assert browser.get("/attempts/1/files/DESIGN.md").text == OWN
    assert browser.get("/attempts/1/files/design.py").status_code == 404


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (files_of()[:1], "notes.txt is missing"),
        ([*files_of(), ("files", ("design.py", b"x"))], "design.py is no file of lab 94"),
        (files_of(DESIGN=DESIGN, notes=NOTES), "all files are as they were given out"),
    ],
)
def test_what_is_no_work_is_refused(lesson: WebClass, parts: Any, told: str) -> None:
    answer = lesson.bearer("s17").post("/api/labs/94/hand-ins", files=parts)

    assert answer.status_code == 422
    assert told in answer.text


def test_a_file_that_nobody_touched_is_noted(lesson: WebClass) -> None:
    answer = lesson.bearer("s17").post("/api/labs/94/hand-ins", files=files_of(notes=NOTES))

    assert (answer.status_code, answer.json()["note"]) == (
        201,
        "notes.txt is as it was given out",
    )


def test_it_waits_for_a_reader_and_is_never_run(lesson: WebClass) -> None:
    item = put(lesson)

    assert item.state is State.GRADED
    [attempt] = lesson.store.attempts(NAME)
    assert (attempt.suite, attempt.points, attempt.possible) == ("people", 0.0, 0.0)
    student = lesson.browser("s17")
    assert WAITS in student.get("/").text
    page = student.get("/attempts/1").text
    assert f'<span class="state waiting">{WAITS}</span>' in page
    assert "0 / 0" not in page + student.get("/labs/94").text
    state = lesson.bearer("s17").get("/api/hand-ins/1").json()
    assert (state["points"], state["waits"]) == (None, WAITS)
    assert state["report"]["extras"] == {"grading": "manual", "status": WAITS}
    tutor = lesson.browser("tutor", Role.ASSISTANT)
    assert "unread" in tutor.get("/class").text
    assert "1 waiting for a reader" in tutor.get("/class/94").text
    assert "Regrade the class" not in tutor.get("/class/94").text
    assert tutor.get("/class/94/items").status_code == 200
    assert "1 of 1 wait for you" in tutor.get("/reading/94").text
    alike = tutor.get("/reading/94/alike?criterion=decision").text
    assert "A ring of pages, since requests end in any order." in alike


def test_it_is_read_to_its_end_before_there_is_a_mark(lesson: WebClass) -> None:
    item = put(lesson)
    read(lesson, item, to_the_end=False)
    student, tutor = lesson.browser("s17"), lesson.browser("other", Role.ASSISTANT)

    assert "1 of 1 wait for you" in tutor.get("/reading/94").text
    assert "waiting for a reader: 1 of 2 tasks have points" in student.get("/").text
    assert "55" not in student.get("/attempts/1").text.partition("All tests")[0]

    read(lesson, item)

    assert "Nothing waits for you" in tutor.get("/reading/94").text
    page = student.get("/attempts/1").text
    assert "85 of 100 points" in page
    assert WAITS not in page
    assert "85 / 100" in student.get("/").text + student.get("/labs/94").text
    assert lesson.bearer("s17").get("/api/hand-ins/1").json()["points"] == 85.0
    book = lesson.site.gradebook([NAME])
    assert b"s17,Student Seventeen,94_design,85,100" in long_csv(book)
    assert b"Student Seventeen,,s17,s17,,85" in canvas_csv(book, {})


@pytest.mark.parametrize("level", [*Feedback])
def test_under_each_level_of_feedback_students_read_their_points(
    open_class: Open, design: Lab, level: Feedback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)
    lesson = open_class(more=[design], feedback=level, feedback_after=level)
    item = put(lesson)
    before = lesson.browser("s17").get("/attempts/1").text

    read(lesson, item)

    assert WAITS in before
    assert "85 of 100 points" in lesson.browser("s17").get("/attempts/1").text


def test_what_is_held_back_says_nothing_of_it(lesson: WebClass) -> None:
    read(lesson, put(lesson))
    hold = Hold("s17", NAME, True, "G. Hopper", "to be talked about", lesson.clock.now())

    lesson.store.returns.add_hold(hold)

    student = lesson.browser("s17")
    seen = student.get("/").text + student.get("/attempts/1").text + student.get("/labs/94").text
    assert HELD_BACK in seen
    # The words of forms are random, and may hold any number.
    assert "85" not in re.sub(r'name="csrf" value="[^"]+"', "", seen)
    assert WAITS not in seen


def test_nothing_is_graded_again_and_requests_wait_until_it_is_read(lesson: WebClass) -> None:
    item = put(lesson)
    tutor, student = lesson.browser("tutor", Role.ASSISTANT), lesson.browser("s17")
    form = {"lab": NAME, "reason": "why not"}

    answer = tutor.post("/regrades", "/class", form)

    assert answer.status_code == 422
    assert "there is nothing to grade again" in answer.text
    assert 'id="requests"' not in student.get("/attempts/1").text
    lesson.clock.go(days=30)
    read(lesson, item)
    assert 'id="requests"' in lesson.browser("s17").get("/attempts/1").text


def test_what_comes_later_waits_while_the_mark_stands(lesson: WebClass) -> None:
    read(lesson, put(lesson))
    lesson.clock.go(hours=1)
    second = take(lesson, DESIGN=OWN + "More.\n")
    pump(lesson)

    tutor = lesson.browser("tutor", Role.ASSISTANT)

    assert f"/attempts/{second.number}/code" in tutor.get("/reading/94").text
    assert "85 / 100" in lesson.browser("s17").get("/").text
    assert "handin-2 of" in lesson.site.gradebook([NAME]).marks["s17", NAME].why
