"""Pages for people who read: a student's code beside its report, and what is said of it."""

from dataclasses import dataclass
from typing import Annotated

from grader.course.database.records import Correction, Score
from grader.course.reading.comments import checked_place, checked_text
from grader.course.reading.rubric import Read
from grader.course.reading.work import lines_of
from grader.extras import needs
from grader.labs.task import Criterion
from grader.service.adapters.web.desk.addresses import address_of
from grader.service.adapters.web.desk.unread import neighbours
from grader.service.adapters.web.shared.answers import drawing, page, text_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import InstructorForm, Signed, Staff, StaffForm
from grader.service.adapters.web.texts.comments import CommentLine, comment_lines
from grader.service.adapters.web.texts.handouts import KINDS
from grader.service.adapters.web.texts.reports import drawn
from grader.service.core.door import Visit
from grader.service.core.people.reading import Given, Work
from grader.service.domain.records import HandIn, Role
from grader.service.domain.refusals import NotFound
from grader.text import moment_text, number, visible_line

with needs("service"):
    from fastapi import APIRouter, Form
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
MOST_ROWS = 3000  # of a file on a page
MOST_LINE = 400  # characters


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A line of a file, and what was said of it."""

    number: int
    text: str
    comments: list[CommentLine]


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file on a page; ``more`` lines of it are left out."""

    name: str
    rows: list[CodeRow]
    more: int


@dataclass(frozen=True, slots=True)
class CriterionLine:
    """A criterion of the rubric, and what readers gave for it."""

    criterion: Criterion
    state: str
    given: list[str]
    may_settle: bool


@router.get("/attempts/{count}/code")
def code(request: Request, visit: Signed, count: int, file: str = "", line: str = "") -> Response:
    """Show a hand-in's code beside its report, to its student and to the staff."""
    site = site_of(request)
    item = site.views.hand_in(visit.who, count)
    return _work_page(site, visit, _work(site, item), file, line)


@router.get("/reading/{name}/work")
def work(
    request: Request,
    visit: Staff,
    name: str,
    student: str = "",
    commit: str = "",
    file: str = "",
    line: str = "",
) -> Response:
    """Show a student's work to the staff, wherever it came from."""
    site = site_of(request)
    found = site.readers.work(site.desk.lab(name), student, commit)
    return _work_page(site, visit, found, file, line)


@router.get("/reading/{name}/pictures/{row}/{at}.svg")
def plot(request: Request, visit: Staff, name: str, row: int, at: int) -> Response:
    """Give a picture of the report of work that came from a repository."""
    site = site_of(request)
    attempts = site.store.attempts(site.desk.lab(name).name)
    graded = next((each for each in attempts if each.row == row), None)
    pictures = drawn(site.views.report(visit.who, graded), "").pictures if graded else ()
    if not 0 <= at < len(pictures):
        raise NotFound("there is no such picture")
    return drawing(pictures[at].encode("utf-8", "replace"), KINDS[".svg"])


@router.post("/attempts/{count}/comments")
def comment(
    request: Request,
    visit: StaffForm,
    count: int,
    text: Annotated[str, Form()] = "",
    canned: Annotated[str, Form()] = "",
    task: Annotated[str, Form()] = "",
    file: Annotated[str, Form()] = "",
    line: Annotated[str, Form()] = "",
) -> Response:
    """Add a word on a hand-in, which its student reads."""
    site = site_of(request)
    found = _work(site, site.views.hand_in(visit.who, count))
    _say(site, visit, found, (text, canned, task, file, line))
    return RedirectResponse(f"/attempts/{count}#comments", 303)


@router.post("/reading/{name}/comments")
def comment_work(
    request: Request,
    visit: StaffForm,
    name: str,
    student: Annotated[str, Form()] = "",
    commit: Annotated[str, Form()] = "",
    text: Annotated[str, Form()] = "",
    canned: Annotated[str, Form()] = "",
    task: Annotated[str, Form()] = "",
    file: Annotated[str, Form()] = "",
    line: Annotated[str, Form()] = "",
) -> Response:
    """Add a word on a student's work, wherever it came from."""
    site = site_of(request)
    found = site.readers.work(site.desk.lab(name), student, commit)
    _say(site, visit, found, (text, canned, task, file, line))
    return RedirectResponse(address_of(found) + "#comments", 303)


@router.post("/reading/comments/{number}")
def withdraw(
    request: Request, visit: StaffForm, number: int, reason: Annotated[str, Form()] = ""
) -> Response:
    """Take a comment back, which stays in the database."""
    site = site_of(request)
    why = text_of_form(reason, "to withdraw a comment needs a reason")
    word = site.readers.withdraw(visit.who, number, why)
    found = site.readers.work(site.desk.lab(word.lab), word.student, word.commit)
    return RedirectResponse(address_of(found) + "#comments", 303)


@router.post("/reading/{name}/points")
def points(
    request: Request,
    visit: InstructorForm,
    name: str,
    student: Annotated[str, Form()] = "",
    commit: Annotated[str, Form()] = "",
    task: Annotated[str, Form()] = "",
    points: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Give a task of a student's work points by hand, or take them back."""
    site = site_of(request)
    found = site.readers.work(site.desk.lab(name), student, commit)
    why = text_of_form(reason, "points by hand need a reason")
    site.readers.correct(visit.who, found, task, points, why)
    return RedirectResponse(address_of(found) + "#by-hand", 303)


@router.post("/reading/{name}/scores")
def score(
    request: Request,
    visit: StaffForm,
    name: str,
    student: Annotated[str, Form()] = "",
    commit: Annotated[str, Form()] = "",
    criterion: Annotated[str, Form()] = "",
    points: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
    what: Annotated[str, Form()] = "",
) -> Response:
    """Give points for a criterion of the rubric, or settle it where readers differ."""
    site = site_of(request)
    found = site.readers.work(site.desk.lab(name), student, commit)
    settles = what == "settle"
    why = text_of_form(reason, "to settle it needs a reason") if settles or reason.strip() else ""
    site.readers.score(visit.who, found, criterion, Given(points, why, settles))
    return RedirectResponse(address_of(found) + "#rubric", 303)


def _work(site: Site, item: HandIn) -> Work:
    return site.readers.work(site.desk.lab(item.lab), item.student, item.key)


def _say(site: Site, visit: Visit, found: Work, form: tuple[str, str, str, str, str]) -> None:
    text, canned, task, file, line = form
    place = checked_place(found.lab, found.files, task, file if line else "", line.strip())
    site.readers.comment(visit.who, found, place, checked_text(site.course, text, canned))


def _work_page(site: Site, visit: Visit, found: Work, file: str, line: str) -> Response:
    said = site.readers.said(found)
    lines = comment_lines(said, site.course.zone, to_staff=visit.who.is_staff)
    shown = site.views.report(visit.who, found.attempt) if found.attempt else None
    pictures = ""
    if found.attempt:
        pictures = f"/reading/{found.lab.number}/pictures/{found.attempt.row}"
        pictures = f"/attempts/{found.item.number}/pictures" if found.item else pictures
    return page(
        site,
        "code.html",
        visit=visit,
        work=found,
        address=address_of(found),
        files=[_file(name, found.files[name], lines) for name in found.files],
        report=Markup(drawn(shown, pictures).html) if shown else "",
        comments=lines,
        canned=site.course.canned,
        hand=[_hand_line(site, each) for each in site.readers.corrections(found)],
        rubric=_rubric(site, visit, found) if visit.who.is_staff else [],
        may_set=visit.who.role is Role.INSTRUCTOR,
        chosen=(file, line),
        around=neighbours(site, visit, found) if visit.who.is_staff else ("", ""),
    )


def _rubric(site: Site, visit: Visit, found: Work) -> list[CriterionLine]:
    return [_criterion(each, visit.who.name) for each in site.readers.rubric(found)]


def _criterion(read: Read, name: str) -> CriterionLine:
    """Return a criterion as a reader sees it: of others nothing before they gave points too."""
    is_open = name in read.by or read.points is not None or read.differs
    shown = [each for each in read.by.values() if is_open]
    given = [_score_line(each, "") for each in shown]
    given += [_score_line(read.last, "settled ")] if read.last else []
    enough = len(read.by) >= read.readers
    return CriterionLine(read.criterion, read.state, given, read.differs or enough)


def _score_line(score: Score, what: str) -> str:
    why = f": {score.reason}" if score.reason else ""
    return f"{what}{number(score.points)} by {score.author}{why}"


def _hand_line(site: Site, word: Correction) -> str:
    moment = moment_text(word.made, site.course.zone)
    given = "taken back" if word.points is None else number(word.points)
    return f"{word.task}: {given} by {word.author}, {moment}: {word.reason}"


def _file(name: str, content: bytes, comments: list[CommentLine]) -> CodeFile:
    lines = lines_of(content)
    own = [each for each in comments if each.place.file == name]
    rows = [
        CodeRow(
            number,
            visible_line(text.replace("\t", "    "), MOST_LINE),
            [each for each in own if each.place.line == number],
        )
        for number, text in enumerate(lines[:MOST_ROWS], 1)
    ]
    return CodeFile(name, rows, max(0, len(lines) - MOST_ROWS))
