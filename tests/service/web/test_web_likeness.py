"""Answers that are alike on the web: clusters, both side by side, notes; for the staff alone."""

from collections.abc import Callable

import pytest

pytest.importorskip("copydetect", reason="needs the extra course")

from stand_ins.alike import OWN, RENAMED
from stand_ins.web_class import LAB, Browser, WebClass

from grader.course.likeness.notes import Kept, State
from grader.service.domain.records import Role

Compare = Callable[[], Kept]


@pytest.fixture
def compare(lesson: WebClass) -> Compare:
    return lesson.compare


@pytest.fixture
def found(lesson: WebClass, compare: Compare) -> Kept:
    """s17 and s18 have handed in the same in other words, and were compared."""
    lesson.hand_in("s17", code=OWN.encode())
    lesson.hand_in("s18", code=RENAMED.encode())
    return compare()


@pytest.fixture
def tutor(lesson: WebClass, found: Kept) -> Browser:
    return lesson.browser("tutor", Role.ASSISTANT)


def address(found: Kept, one: str = "s17", other: str = "s18") -> str:
    keys = {answer.name: answer.key for answer in found.answers}
    return f"/likeness/90/{keys[one]}/{keys[other]}"


def test_the_clusters_of_a_lab_are_listed_with_a_way_to_both(tutor: Browser, found: Kept) -> None:
    page = tutor.get("/likeness/90").text

    assert "Cluster 1: 2 students" in page
    assert "<strong>open</strong>" in page
    assert f'href="{address(found)}"' in page
    assert "step_2" in page


def test_before_a_comparison_there_is_nothing(lesson: WebClass) -> None:
    browser = lesson.browser("tutor", Role.ASSISTANT)

    assert "Nothing was compared yet" in browser.get("/likeness/90").text
    assert browser.get("/likeness/90/a/b").status_code == 404


def test_two_answers_are_beside_each_other_with_what_both_have(tutor: Browser, found: Kept) -> None:
    page = tutor.get(address(found)).text

    assert 'href="#b1"' in page
    assert 'id="a1"' in page
    assert "total = limit * 2" in page
    assert "result = limit * 2" in page
    assert "<script>alert" not in page
    assert "style=" not in page  # which the policy forbids
    assert tutor.get("/static/likeness.css").headers["content-type"].startswith("text/css")


def test_two_answers_can_be_chosen(tutor: Browser, found: Kept) -> None:
    keys = {answer.name: answer.key for answer in found.answers}

    answer = tutor.get(f"/likeness/90/compare?one={keys['s17']}&other={keys['s18']}")

    assert (answer.status_code, answer.headers["location"]) == (303, address(found))
    twice = tutor.get(f"/likeness/90/compare?one={keys['s17']}&other={keys['s17']}")
    assert twice.status_code == 422


def test_a_note_is_kept_with_its_author_and_outlives_a_comparison(
    lesson: WebClass, tutor: Browser, found: Kept, compare: Compare
) -> None:
    form = {
        "members": " ".join(found.keys(["s17", "s18"])),
        "state": "to be talked about",
        "text": "same <b>helpers</b>\nsame order",
        "back": "pair",
    }

    answer = tutor.post("/likeness/90/notes", "/likeness/90", form)
    lesson.clock.go(hours=1)
    compare()

    assert answer.status_code == 303
    assert answer.headers["location"].endswith("#notes")
    for path in ("/likeness/90", address(found)):
        page = tutor.get(path).text
        assert "same &lt;b&gt;helpers&lt;/b&gt;<br>same order" in page
        assert "tutor, 2026-10-01" in page
        assert "<strong>to be talked about</strong>" in page
    [note] = lesson.store.alike.notes(LAB)
    assert (note.author, note.state, note.about) == ("tutor", State.TO_TALK, "s17, s18")


@pytest.mark.parametrize(
    "change", [{"state": "guilty"}, {"text": " "}, {"text": "x" * 4001}, {"members": ""}]
)
def test_a_note_that_says_too_little_is_refused(
    lesson: WebClass, tutor: Browser, found: Kept, change: dict[str, str]
) -> None:
    form = {"members": " ".join(found.keys(["s17", "s18"])), "state": "open", "text": "x"}

    answer = tutor.post("/likeness/90/notes", "/likeness/90", form | change)

    assert answer.status_code == 422
    assert lesson.store.alike.notes(LAB) == []


def test_no_note_changes_a_mark(lesson: WebClass, tutor: Browser, found: Kept) -> None:
    before = [mark.points for mark in lesson.site.gradebook().of("s17")]
    form = {"members": " ".join(found.keys(["s17", "s18"])), "state": "confirmed", "text": "x"}

    tutor.post("/likeness/90/notes", "/likeness/90", form)

    assert [mark.points for mark in lesson.site.gradebook().of("s17")] == before
    assert lesson.books.overrides() == []


def test_who_handed_in_something_else_since_is_told(
    lesson: WebClass, tutor: Browser, found: Kept
) -> None:
    file = next(answer.path for answer in found.answers if answer.name == "s17")
    (lesson.folder / file).write_text("x = 1\n")

    answer = tutor.get(address(found))

    assert answer.status_code == 422
    assert "s17 has handed in something else meanwhile" in answer.text


def test_students_see_nothing_of_it(lesson: WebClass, found: Kept) -> None:
    browser = lesson.browser("s17")

    for path in ("/likeness/90", address(found), "/likeness/90/compare"):
        assert browser.get(path).status_code == 404
    assert browser.post("/likeness/90/notes", "/", {"state": "open"}).status_code == 404
    assert "likeness" not in browser.get("/").text


def test_the_pages_of_the_class_lead_there(tutor: Browser) -> None:
    assert 'href="/likeness/90"' in tutor.get("/class").text
    assert 'href="/likeness/90"' in tutor.get("/class/90").text
