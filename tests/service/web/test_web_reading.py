"""People read on the web: code beside the report, and words on it that the student reads."""

from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.sample_reports import mixed
from stand_ins.web_class import CODE, LAB, NOW, Browser, WebClass

from grader.course.database.records import Attempt, Frozen
from grader.labs.task import Criterion
from grader.service.domain.records import Role

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def tutor(lesson: WebClass) -> Browser:
    """An assistant's browser; s17 has handed in and was graded."""
    report = mixed("wrong")
    own = replace(report.tasks[0], id=lesson.labs[0].tasks[0].id)
    item = lesson.hand_in("s17", code=CODE + f"# {HOSTILE}\n".encode())
    lesson.grade(item, replace(report, tasks=(own, *report.tasks[1:])))
    return lesson.browser("tutor", Role.ASSISTANT)


def test_the_code_stands_beside_the_report(lesson: WebClass, tutor: Browser) -> None:
    for browser in (tutor, lesson.browser("s17")):
        page = browser.get("/attempts/1/code").text

        assert "def echo(x):" in page
        assert 'id="echo.py-3"' in page
        assert "# &lt;script&gt;alert(1)" in page
        assert "wrong" in page
    assert lesson.browser("s18").get("/attempts/1/code").status_code == 404


def test_a_word_on_a_line_stands_below_it_for_the_student(lesson: WebClass, tutor: Browser) -> None:
    form = {"text": f"Why {HOSTILE}?", "file": "echo.py", "line": "2"}

    answer = tutor.post("/attempts/1/comments", "/attempts/1/code?file=echo.py&line=2", form)

    assert answer.status_code == 303
    student = lesson.browser("s17")
    code, page = student.get("/attempts/1/code").text, student.get("/attempts/1").text
    below = code.index("Why &lt;script&gt;")
    assert code.index('id="echo.py-2"') < below < code.index('id="echo.py-3"')
    assert "on echo.py, line 2" in page
    assert "Withdraw" not in page + code
    [told] = lesson.bearer("s17").get("/api/hand-ins/1").json()["comments"]
    assert (told["author"], told["about"]) == ("tutor", "echo.py, line 2")


def test_a_word_on_a_task_names_it(lesson: WebClass, tutor: Browser) -> None:
    task = lesson.labs[0].tasks[0].id

    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "Better", "task": task})

    assert f"on task {task}" in lesson.browser("s17").get("/attempts/1").text


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({}, "a comment needs words"),
        ({"text": "x", "line": "4"}, "it has 1 to 3"),
        ({"text": "x", "line": "-1"}, "is no line"),
        ({"text": "x", "line": "1", "file": "../course.toml"}, "is not among the files"),
        ({"text": "x", "task": "none"}, "has no task"),
        ({"text": "x", "canned": "none"}, "there is no canned comment"),
        ({"text": "x" * 4001}, "at most 4000 characters"),
    ],
)
def test_a_word_on_nothing_is_refused(
    lesson: WebClass, tutor: Browser, form: dict[str, str], why: str
) -> None:
    answer = tutor.post("/attempts/1/comments", "/attempts/1", form)

    assert answer.status_code == 422
    assert why in answer.text
    assert lesson.store.reading.comments() == []


def test_a_comment_that_the_course_has_ready_is_chosen_by_name(
    lesson: WebClass, tutor: Browser
) -> None:
    site = replace(lesson.site, course=replace(lesson.course, canned={"shapes": "State shapes."}))
    lesson.app.state.site = site
    assert "shapes: State shapes." in tutor.get("/attempts/1").text

    form = {"canned": "shapes", "text": "In line 2 too."}
    tutor.post("/attempts/1/comments", "/attempts/1", form)

    [word] = lesson.store.reading.comments()
    assert word.text == "State shapes.\n\nIn line 2 too."


def test_what_is_withdrawn_is_the_staffs_alone_and_stays(lesson: WebClass, tutor: Browser) -> None:
    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "All wrong"})

    tutor.post("/reading/comments/1", "/attempts/1", {"reason": "I misread it"})

    page = tutor.get("/attempts/1").text
    assert "All wrong" in page
    assert "withdrawn by tutor" in page
    assert "I misread it" in page
    student = lesson.browser("s17")
    told = student.get("/attempts/1").text + student.get("/attempts/1/code").text
    assert "All wrong" not in told
    assert "I misread it" not in told
    assert lesson.bearer("s17").get("/api/hand-ins/1").json()["comments"] == []
    again = tutor.post("/reading/comments/1", "/attempts/1", {"reason": "again"})
    assert (again.status_code, "already" in again.text) == (422, True)


def test_a_comment_is_withdrawn_by_its_author_or_an_instructor(
    lesson: WebClass, tutor: Browser
) -> None:
    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "Good"})
    other = lesson.browser("other", Role.ASSISTANT)
    teacher = lesson.browser("teacher", Role.INSTRUCTOR)

    refused = other.post("/reading/comments/1", "/attempts/1", {"reason": "no"})
    taken = teacher.post("/reading/comments/1", "/attempts/1", {"reason": "no"})

    assert (refused.status_code, taken.status_code) == (422, 303)


def test_work_from_a_repository_is_read_too(lesson: WebClass, tutor: Browser) -> None:
    folder = lesson.folder / "frozen"
    folder.mkdir()
    (folder / "echo.py").write_bytes(CODE)
    kept = Frozen("s18", LAB, "c0ffee", NOW, NOW, str(Path("frozen")))
    lesson.books.add_frozen(kept)
    report = mixed("by git").to_json()
    run = lesson.books.start_run(LAB, NOW)
    lesson.books.add_attempt(
        Attempt("s18", LAB, run, "c0ffee", NOW, NOW, 1.0, 10.0, 30.0, 1, report)
    )
    address = "/reading/90/work?student=s18&commit=c0ffee"

    page = tutor.get(address).text
    form = {"student": "s18", "commit": "c0ffee", "text": "Thanks", "line": "1"}
    answer = tutor.post("/reading/90/comments", address, form)

    assert "by git" in page
    assert "return x" in page
    assert answer.status_code == 303
    assert "Thanks" in tutor.get(address).text
    assert tutor.get("/reading/90/work?student=s17&commit=c0ffee").status_code == 404


def test_an_instructor_gives_a_task_points_which_the_student_reads(
    lesson: WebClass, tutor: Browser
) -> None:
    teacher = lesson.browser("teacher", Role.INSTRUCTOR)
    task = lesson.labs[0].tasks[0].id
    form = {"student": "s17", "commit": "handin-1", "task": task, "points": "1", "reason": "<typo>"}
    before = lesson.site.gradebook().marks["s17", LAB]

    refused = tutor.post("/reading/90/points", "/attempts/1/code", form)
    answer = teacher.post("/reading/90/points", "/attempts/1/code", form)

    assert (refused.status_code, answer.status_code) == (404, 303)
    assert "Set the points" not in tutor.get("/attempts/1/code").text
    mark = lesson.site.gradebook().marks["s17", LAB]
    assert mark.points != before.points
    student = lesson.browser("s17")
    told = f"{task} set to 1 of "
    assert told in student.get("/attempts/1").text
    assert told in student.get("/").text
    assert "by teacher" in student.get("/").text
    assert "&lt;typo&gt;" in student.get("/attempts/1/code").text
    too_many = teacher.post("/reading/90/points", "/attempts/1/code", {**form, "points": "1000"})
    assert (too_many.status_code, "a number from 0 to" in too_many.text) == (422, True)


def test_two_readers_score_a_rubric_and_somebody_settles_where_they_differ(
    lesson: WebClass, tutor: Browser
) -> None:
    lab = lesson.site.desk.lab("90")
    [task] = [each for each in lab.tasks if each.id == lab.tasks[0].id]
    criterion = Criterion("steps", "Steps", task.points, "Each <step> is said.", task.id)
    lesson.site.desk.labs[LAB] = replace(lab, rubric=(criterion,), readers=2)
    other = lesson.browser("other", Role.ASSISTANT)
    form = {"student": "s17", "commit": "handin-1", "criterion": "steps"}
    place = ("/reading/90/scores", "/attempts/1/code")

    tutor.post(*place, {**form, "points": "3", "reason": "why not"})
    blind = other.get("/attempts/1/code").text
    other.post(*place, {**form, "points": "4"})

    assert "Each &lt;step&gt; is said." in blind
    assert "3 by tutor" not in blind
    page = other.get("/attempts/1/code").text
    assert "readers differ" in page
    assert "3 by tutor: why not" in page
    assert lesson.store.reading.corrections() == []
    settled = {**form, "points": "3.5", "what": "settle", "reason": "between"}
    assert other.post(*place, settled).status_code == 303
    [word] = lesson.store.reading.corrections()
    assert (word.points, word.author) == (3.5, "other")
    told = lesson.browser("s17").get("/attempts/1/code").text
    assert "by the rubric: Steps 3.5 of" in told
    assert "why not" not in told
