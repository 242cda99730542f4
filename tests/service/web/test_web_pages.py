"""What people see: each page, as a browser without JavaScript gets it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import pytest
from stand_ins.sample_reports import (
    HOSTILE,
    hostile_everywhere,
    measured,
    mixed,
    report_of,
    result,
    speed_entry,
)
from stand_ins.web_class import CODE, LAB, NOW, STUDENTS, WebClass

from grader.course.database.records import Likeness, Remark
from grader.course.gradebook.gradebook import Gradebook
from grader.course.gradebook.overview import Overview, overview
from grader.course.policy import Feedback, Hidden
from grader.course.rules.weights import LabRule, TotalRule
from grader.labs.results import Verdict
from grader.service.core import overviews
from grader.service.core.chores import Chores
from grader.service.domain.records import Alias, Role, State

Open = Callable[..., WebClass]


class Tags(HTMLParser):
    """Collects what a page would make a browser do."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.inline: list[str] = []
        self.sources: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        named = dict(attrs)
        self.sources += [str(named[key]) for key in ("src", "href", "action") if key in named]
        if tag == "script":
            self.scripts.append(str(named.get("src")))
        if tag == "style" or "style" in named or any(key.startswith("on") for key in named):
            self.inline.append(f"{tag} {named}")


def test_a_student_finds_the_labs_with_what_is_left(open_class: Open) -> None:
    lesson = open_class(per_day=3)
    lesson.hand_in("s17")

    page = lesson.browser("s17").get("/").text

    assert "Echo" in page
    assert "attempts left today: 2" in page
    assert "attempts left today: 3" in page


def test_a_lab_shows_its_handout_and_a_form(lesson: WebClass) -> None:
    page = lesson.browser("s17").get("/labs/90").text

    assert "<h2 id=" in page
    assert 'enctype="multipart/form-data"' in page
    assert "echo.py" in page


def test_work_is_handed_in_by_file_and_its_receipt_is_shown(lesson: WebClass) -> None:
    browser = lesson.browser("s17")
    files = {"code": ("my echo (1).py", CODE), "pseudocode": ("PSEUDOCODE.md", b"# Mine\n")}

    answer = browser.post("/labs/90/hand-ins", "/labs/90", files=files)

    assert answer.status_code == 303, answer.text
    page = browser.get(answer.headers["location"]).text
    item = lesson.store.hand_ins("s17")[0]
    assert item.sha256[:12] in page
    assert "Place 1 in the queue" in page
    kept = lesson.folder / item.path
    assert (kept / "echo.py").read_bytes() == CODE
    assert (kept / "PSEUDOCODE.md").read_bytes() == b"# Mine\n"


def test_work_is_handed_in_as_text_with_lines_as_they_were(lesson: WebClass) -> None:
    browser = lesson.browser("s17")

    data = {"code_text": CODE.decode().replace("\n", "\r\n"), "pseudocode_text": "# Mine"}
    answer = browser.post("/labs/90/hand-ins", "/labs/90", data)

    assert answer.status_code == 303, answer.text
    item = lesson.store.hand_ins("s17")[0]
    assert (lesson.folder / item.path / "echo.py").read_bytes() == CODE


def test_a_verdict_is_drawn_as_the_html_report_has_it(lesson: WebClass) -> None:
    item = lesson.grade(lesson.hand_in("s17"), mixed("rms_norm keeps the dtype"))

    page = lesson.browser("s17").get(f"/attempts/{item.number}").text

    assert "10 of 30 points" in page or "10 / 10" in page
    assert "rms_norm keeps the dtype" in page
    assert "<h2>All tests</h2>" in page


def test_plots_are_files_of_the_attempt(lesson: WebClass) -> None:
    item = lesson.hand_in("s17")
    lesson.grade(item, measured(speed_entry("a", size=1), speed_entry("b", size=2)))
    browser = lesson.browser("s17")

    page = browser.get(f"/attempts/{item.number}").text
    answer = browser.get(f"/attempts/{item.number}/pictures/0.svg")

    assert f'src="/attempts/{item.number}/pictures/0.svg"' in page
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.text.startswith("<svg")
    assert browser.get(f"/attempts/{item.number}/pictures/1.svg").status_code == 404


@pytest.mark.parametrize(
    ("feedback", "seen"), [(Feedback.MESSAGES, True), (Feedback.TASKS, False), ("points", False)]
)
def test_what_the_policy_holds_back_is_on_no_page(
    open_class: Open, feedback: Feedback, seen: bool
) -> None:
    lesson = open_class(feedback=Feedback(feedback), feedback_after=Feedback(feedback))
    item = lesson.grade(lesson.hand_in("s17"), mixed("what only the suite knows"))

    own = lesson.browser("s17").get(f"/attempts/{item.number}").text
    report = lesson.bearer("s17").get(f"/api/hand-ins/{item.number}").text
    theirs = lesson.browser("staff", Role.ASSISTANT).get(f"/attempts/{item.number}").text

    assert ("what only the suite knows" in own) is seen
    assert ("what only the suite knows" in report) is seen
    assert "what only the suite knows" in theirs


def test_attempts_are_compared_line_by_line(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed())
    lesson.hand_in("s17", code=CODE + b"# <i>more</i>\n")

    page = lesson.browser("s17").get("/attempts/2/diff").text

    assert "+# &lt;i&gt;more&lt;/i&gt;" in page
    assert lesson.browser("s17").get("/attempts/1/diff").status_code == 404


def test_texts_that_take_hours_to_compare_do_not(lesson: WebClass) -> None:
    before = "\n".join(f"{n % 199}" for n in range(60_000)).encode()
    after = "\n".join(f"{n * 7 % 197}" for n in range(60_000)).encode()
    lesson.grade(lesson.hand_in("s17", code=before), mixed())
    lesson.hand_in("s17", code=after)

    answer = lesson.browser("s17").get("/attempts/2/diff")

    assert answer.status_code == 200
    assert "could not be found in the time" in answer.text or "more lines" in answer.text


def test_the_queue_names_nobody_to_students(lesson: WebClass) -> None:
    lesson.hand_in("s17")
    lesson.hand_in("a/b?c#d")

    own = lesson.browser("s17").get("/queue").text
    theirs = lesson.browser("staff", Role.ASSISTANT).get("/queue").text

    assert "a/b?c#d" not in own
    assert "yours, attempt 1" in own
    assert "a/b?c#d" in theirs


def test_the_queue_tells_how_long_one_waits_by_device(lesson: WebClass) -> None:
    item = lesson.hand_in("s17")
    lesson.clock.go(minutes=3)
    now = lesson.clock.now()
    lesson.store.claim("worker", "cpu", now, timedelta(hours=1))
    waits = lesson.hand_in("s18")

    queue = lesson.browser("s17").get("/queue").text

    assert "<strong>CPU</strong>: 1 waiting, 1 being graded." in queue
    assert "one waited 3 min, 3 min at most" in queue
    assert "GPU" not in queue
    state = lesson.bearer("s18").get(f"/api/hand-ins/{waits.number}").json()
    assert (state["place"], state["wait_median_seconds"]) == (1, 180.0)
    assert state["wait_expected_seconds"] is None
    assert lesson.bearer("s17").get(f"/api/hand-ins/{item.number}").json()["place"] is None


def test_after_the_deadline_the_hidden_verdict_stands_there_as_far_as_the_course_shows_it(
    open_class: Open,
) -> None:
    lesson = open_class(
        hidden=Hidden.AFTER_DEADLINE,
        feedback_after=Feedback.POINTS,
        deadline=NOW + timedelta(hours=1),
    )
    words = "what the hidden test says"
    lesson.grade(lesson.hand_in("s17"), mixed("what a public test says"), suite="public")
    page = lesson.browser("s17").get("/attempts/1").text
    assert "The public tests alone have judged it" in page

    lesson.clock.go(hours=2)
    Chores(lesson.site.desk, lesson.store, lesson.clock, lambda lab: None).turn()
    assert lesson.store.regradings.counts() == {State.WAITING: 1}
    lesson.regrade_next(mixed(words))

    page = lesson.browser("s17").get("/attempts/1").text
    assert "The public tests alone" not in page
    assert "10 of 30 points" in page
    assert words not in page
    assert words in lesson.browser("staff", Role.ASSISTANT).get("/attempts/1").text


def test_the_board_has_who_chose_a_name_and_is_proven(lesson: WebClass) -> None:
    browser = lesson.browser("s17")
    for student, ratio in (("s17", 2.0), ("s18", 8.0)):
        entries = [speed_entry("a", ratio=ratio), speed_entry("b", ratio=ratio * 4)]
        lesson.grade(lesson.hand_in(student), measured(*entries))
    odd = measured(speed_entry("a", ratio=99.0, suspicious="faster than memory"))
    lesson.grade(lesson.hand_in("s17"), odd)

    answer = browser.post("/board/90", "/board/90", {"alias": "  <b>quick</b> "})
    page = browser.get("/board/90").text

    assert answer.status_code == 303
    assert "&lt;b&gt;quick&lt;/b&gt;" in page
    assert "4.00" in page
    assert "16.00" not in page
    assert "99.00" not in page


def test_a_name_on_the_board_is_somebodys_alone_and_can_be_drawn(lesson: WebClass) -> None:
    lesson.store.put_alias(Alias("s18", LAB, "quick"))
    browser = lesson.browser("s17")

    taken = browser.post("/board/90", "/board/90", {"alias": "quick"})
    alike = browser.post("/board/90", "/board/90", {"alias": "\u3164Quick\u2800 "})
    hidden = browser.post("/board/90", "/board/90", {"alias": "a\u202eb"})
    long = browser.post("/board/90", "/board/90", {"alias": "x" * 25})

    assert [each.status_code for each in (taken, alike, hidden, long)] == [422] * 4
    assert lesson.store.aliases(LAB) == [Alias("s18", LAB, "quick")]


def test_the_class_page_has_what_most_failed_and_what_is_alike(
    lesson: WebClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("s17", "s18"):
        lesson.grade(lesson.hand_in(student), mixed("keeps the <dtype>"))
    lesson.books.put_likenesses(LAB, [Likeness(LAB, "s17", "s18", True, 0.97, 0.85, 900)])
    browser = lesson.browser("staff", Role.ASSISTANT)
    counted: list[str] = []

    def count(book: Gradebook, lab: str) -> Overview:
        counted.append(lab)
        return overview(book, lab)

    monkeypatch.setattr(overviews, "overview", count)

    page = browser.get("/class").text

    assert "test_rope[3-7]" in page
    assert "keeps the &lt;dtype&gt; <small>(2)</small>" in page
    assert '<td class="to-right">97 %</td><td class="to-right">85 %</td>' in page
    assert browser.get("/class").status_code == 200
    assert browser.get("/class/90").status_code == 200
    assert counted == [LAB]
    tests = (result("norm", Verdict.PASSED), result("rope", Verdict.FAILED, "keeps it"))
    better = report_of(*tests, score={"norm": 10.0, "rope": 5.0})
    lesson.grade(lesson.hand_in("s17", code=CODE + b"# better"), better)
    assert "keeps it" in browser.get("/class").text
    assert counted == [LAB, LAB]


def test_a_courses_own_total_is_on_the_pages_of_the_staff(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed("keeps the dtype"))
    rule = TotalRule({90: LabRule(weight=2.0)})
    lesson.app.state.site = replace(lesson.site, course=replace(lesson.course, total=rule))
    browser = lesson.browser("staff", Role.ASSISTANT)

    matrix, student = browser.get("/class").text, browser.get("/students/s17").text

    why = "90 (\N{MULTIPLICATION SIGN}2) 10 of 30"
    assert f'<td class="to-right" title="{why}' in matrix
    assert '"><strong>33.33 %</strong></td>' in matrix
    assert '<p class="score">33.33 % (20 of 60)</p>' in student
    assert f"<p>{why}" in student


def test_the_staff_sees_the_class_and_each_student(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed("keeps the dtype"))
    browser = lesson.browser("staff", Role.ASSISTANT)

    matrix, lab = browser.get("/class").text, browser.get("/class/90").text
    student = browser.get("/students/s17").text

    assert ">10<" in matrix
    assert "keeps the dtype" in lab
    assert "Set a mark by hand" not in student
    assert '<a href="/attempts/1">1</a>' in student
    for name in ("points", "tasks", "seconds"):
        assert browser.get(f"/class/90/pictures/{name}.svg").text.startswith("<svg")
    assert "Nothing of it was handed in yet" in browser.get("/class/91").text


def test_what_collecting_remarked_is_for_the_staff_alone(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("s17"), mixed())
    told = "branch student/<b>S017</b>\u202e looks like s17's"
    lesson.books.add_frozen(remark=Remark("s17", LAB, told, lesson.clock.now()))

    staff = lesson.browser("staff", Role.ASSISTANT)
    own = lesson.browser("s17")

    shown = "branch student/&lt;b&gt;S017&lt;/b&gt;\\u202e looks like s17&#39;s"
    assert f'<a href="/students/s17">s17</a>, {LAB}: {shown}</li>' in staff.get("/class").text
    assert "Look at what was collected: 1 remark<" in staff.get("/class").text
    assert f"To look at, for the staff: {shown}" in staff.get("/students/s17").text
    assert "To look at" not in staff.get("/students/s18").text
    pages = [own.get(path) for path in ("/", "/labs/90", "/attempts/1", "/queue")]
    assert [page.status_code for page in pages] == [200] * 4
    assert not any("looks like" in page.text for page in pages)
    assert own.get("/students/s17").status_code in (403, 404)


def test_an_override_has_author_and_reason_and_is_taken_back(lesson: WebClass) -> None:
    lesson.grade(lesson.hand_in("a/b?c#d"), mixed())
    browser, page = lesson.browser("boss", Role.INSTRUCTOR), "/students/a%2Fb%3Fc%23d"
    data = {"student": "a/b?c#d", "lab": LAB, "points": "42.5", "reason": "was ill"}

    answer = browser.post("/overrides", page, data)
    set_to = browser.get(answer.headers["location"]).text
    nothing = browser.post("/overrides", page, data | {"reason": " "})
    odd = browser.post("/overrides", page, data | {"points": "nan"})
    browser.post("/overrides", page, data | {"points": "", "reason": "in error"})

    assert "42.5" in set_to
    assert "by boss" in set_to
    assert (nothing.status_code, odd.status_code) == (422, 422)
    words = [(word.points, word.author, word.reason) for word in lesson.books.overrides()]
    assert words == [(42.5, "boss", "was ill"), (None, "boss", "in error")]


def test_a_comment_is_read_by_the_student(lesson: WebClass) -> None:
    item = lesson.hand_in("s17")
    page = f"/attempts/{item.number}"
    staff = lesson.browser("staff", Role.ASSISTANT)

    staff.post(f"{page}/comments", page, {"text": "see <b>me</b>\r\nsoon"})

    shown = lesson.browser("s17").get(page).text
    assert "see &lt;b&gt;me&lt;/b&gt;<br>soon" in shown
    assert "staff, " in shown


def test_a_refusal_says_when_the_next_attempt_is_possible(open_class: Open) -> None:
    lesson = open_class(per_day=1)
    lesson.hand_in("s17")
    browser = lesson.browser("s17")

    answer = browser.post("/labs/90/hand-ins", "/labs/91", {"code_text": "x = 1"})

    assert answer.status_code == 429
    assert answer.headers["retry-after"] == str(12 * 3600 + 1)
    assert "again from 2026-10-02 00:00 UTC" in answer.text


def test_deadlines_are_told_in_the_zone_of_the_course(open_class: Open) -> None:
    moment = datetime(2026, 10, 1, 16, tzinfo=UTC)
    lesson = open_class(deadline=moment, zone=ZoneInfo("Asia/Shanghai"))

    assert "due 2026-10-02 00:00 CST" in lesson.browser("s17").get("/").text


def test_hostile_text_is_text_on_every_page(lesson: WebClass) -> None:
    student = STUDENTS[1].id
    item = lesson.hand_in(student, code=HOSTILE.encode("utf-8", "replace"))
    lesson.grade(item, hostile_everywhere())
    staff = lesson.browser("boss", Role.INSTRUCTOR)
    staff.post("/attempts/1/comments", "/attempts/1", {"text": HOSTILE.encode("utf-8", "replace")})
    lesson.hand_in(student, code=b"<script>alert(3)</script>\n{{ config }}")
    paths = ["/", "/labs/90", "/attempts/1", "/attempts/2", "/attempts/2/diff", "/queue"]
    paths += ["/board/90", "/class", "/class/90", f"/students/{student}"]

    for browser in (staff, lesson.browser(student)):
        for path in paths:
            answer = browser.get(path)
            if answer.status_code == 404:
                continue
            tags = Tags(answer.text)
            assert tags.inline == [], path
            assert {*tags.scripts} <= {"/static/service.js"}, path
            assert [
                url for url in tags.sources if not url.startswith(("/", "#", "http", "?lang="))
            ] == []
            assert "alert(1)</script>49" not in answer.text
            assert "\u202e" not in answer.text
            assert "\x1b" not in answer.text


def test_pictures_of_a_handout_come_from_its_folder_alone(lesson: WebClass) -> None:
    browser = lesson.browser("s17")

    for name in ("..%2Flab.toml", "%2e%2e/lab.toml", "lab.toml", "../lab.toml", "%00.svg"):
        assert browser.get(f"/labs/90/pictures/{name}").status_code == 404, name
