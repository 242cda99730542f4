"""What waits for a reader, one after the other, and answers of like wording decided at once."""

from dataclasses import replace

import pytest
from stand_ins.sample_reports import mixed
from stand_ins.web_class import LAB, Browser, WebClass

from grader.labs.task import Criterion
from grader.service.domain.records import HandIn, Origin, Role, Who


def hand_in(lesson: WebClass, student: str, answer: str) -> HandIn:
    lab = lesson.site.desk.lab(LAB)
    files = {lab.code_name: b"x = 1\n", "PSEUDOCODE.md": f"## scale\n\n{answer}\n".encode()}
    return lesson.site.desk.take(Who(student, Role.STUDENT), lab, files, Origin.WEB)


@pytest.fixture
def tutor(lesson: WebClass) -> Browser:
    """An assistant's browser; three students were graded, two of them wrote the same."""
    answers = {"s17": "Multiply, by factor", "s18": "multiply BY factor.", "a/b?c#d": "<b>Add</b>"}
    for student, answer in answers.items():
        item = hand_in(lesson, student, answer)
        lesson.grade(item, mixed("no"))
    return lesson.browser("tutor", Role.ASSISTANT)


def with_rubric(lesson: WebClass, readers: int = 1) -> None:
    lab = lesson.site.desk.lab(LAB)
    task = lab.tasks[0]
    rubric = (Criterion("steps", "Steps", task.points, "Each is said.", task.id, "scale"),)
    lesson.site.desk.labs[LAB] = replace(lab, rubric=rubric, readers=readers)


def test_what_nobody_has_read_waits(tutor: Browser) -> None:
    assert "3 of 3 wait for you" in tutor.get("/reading").text
    page = tutor.get("/reading/90").text
    assert "3 of 3 wait for you" in page
    assert page.index("/attempts/1/code") < page.index("/attempts/3/code")


def test_one_goes_from_work_to_work_by_keys_alone(tutor: Browser) -> None:
    page = tutor.get("/attempts/2/code").text

    assert '<a href="/attempts/1/code" accesskey="p"' in page
    assert '<a href="/attempts/3/code" accesskey="n"' in page
    script = tutor.get("/static/reading.js")
    assert (script.status_code, "data-key" in script.text) == (200, True)


def test_a_word_or_a_note_makes_it_read_and_the_next_is_shown(
    lesson: WebClass, tutor: Browser
) -> None:
    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "Good"})
    form = {"student": "s18", "commit": "handin-2"}

    answer = tutor.post("/reading/90/seen", "/attempts/2/code", form)

    assert answer.headers["location"] == "/attempts/3/code"
    other = lesson.browser("other", Role.ASSISTANT)
    assert "1 of 3 wait for you" in other.get("/reading").text
    [seen] = lesson.store.reading.seen(LAB)
    assert (seen.student, seen.author) == ("s18", "tutor")


def test_a_new_hand_in_that_counts_waits_again(lesson: WebClass, tutor: Browser) -> None:
    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "Good"})
    item = hand_in(lesson, "s17", "new")
    report = mixed("no")
    better = tuple(replace(task, score=task.points) for task in report.tasks)
    lesson.grade(item, replace(report, tasks=better))

    assert "3 of 3 wait for you" in tutor.get("/reading").text


def test_a_withdrawn_word_leaves_it_unread(tutor: Browser) -> None:
    tutor.post("/attempts/1/comments", "/attempts/1", {"text": "Good"})
    tutor.post("/reading/comments/1", "/attempts/1", {"reason": "wrong student"})

    assert "3 of 3 wait for you" in tutor.get("/reading").text


def test_by_a_rubric_it_waits_for_as_many_readers_as_the_lab_asks_for(
    lesson: WebClass, tutor: Browser
) -> None:
    with_rubric(lesson, readers=2)
    other = lesson.browser("other", Role.ASSISTANT)
    form = {"student": "s17", "commit": "handin-1", "criterion": "steps", "points": "1"}

    tutor.post("/reading/90/scores", "/attempts/1/code", form)

    assert "2 of 3 wait for you" in tutor.get("/reading/90").text
    assert "3 of 3 wait for you" in other.get("/reading/90").text
    other.post("/reading/90/scores", "/attempts/1/code", {**form, "points": "2"})
    assert "readers differ" in tutor.get("/reading/90").text


def test_answers_of_like_wording_are_decided_once_for_each(
    lesson: WebClass, tutor: Browser
) -> None:
    with_rubric(lesson)
    address = "/reading/90/alike?criterion=steps"
    page = tutor.get(address).text
    assert "Multiply, by factor" in page
    assert "multiply BY factor." in page
    assert "&lt;b&gt;Add" in page
    assert "2 answers" in page
    key = page.split('name="group" value="')[1].split('"')[0]
    form = {"criterion": "steps", "group": key, "points": "3", "reason": "all said"}

    answer = tutor.post("/reading/90/alike", address, form)

    assert answer.status_code == 303
    scores = lesson.store.reading.scores(LAB)
    assert [(each.student, each.points, each.author) for each in scores] == [
        ("s17", 3.0, "tutor"),
        ("s18", 3.0, "tutor"),
    ]
    assert "2 answers" not in tutor.get(address).text
    again = tutor.post("/reading/90/alike", address, form)
    assert (again.status_code, "not as it was shown" in again.text) == (422, True)


def test_a_group_that_grew_is_looked_at_again(lesson: WebClass, tutor: Browser) -> None:
    with_rubric(lesson)
    address = "/reading/90/alike?criterion=steps"
    key = tutor.get(address).text.split('name="group" value="')[1].split('"')[0]
    item = hand_in(lesson, "a/b?c#d", "multiply by factor")
    report = mixed("no")
    better = tuple(replace(task, score=task.points) for task in report.tasks)
    lesson.grade(item, replace(report, tasks=better))
    form = {"criterion": "steps", "group": key, "points": "3"}

    assert tutor.post("/reading/90/alike", address, form).status_code == 422

    assert lesson.store.reading.scores(LAB) == []
