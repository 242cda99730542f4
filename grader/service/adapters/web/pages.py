"""The pages of students; the staff sees them too, of everybody. They work without JavaScript."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from grader.course.database.giving.records import HELD_BACK
from grader.course.database.records import Attempt
from grader.course.gradebook.marks import Mark
from grader.course.gradebook.pages import points_of
from grader.course.reading.comments import said
from grader.course.reading.points import corrected
from grader.extras import needs
from grader.labs.lab import Lab
from grader.languages.language import spoken, word
from grader.service.adapters.web.api import file_of, refuse_what_cannot_be_taken
from grader.service.adapters.web.desk.model_answers import are_shown
from grader.service.adapters.web.live import EventStream, stream
from grader.service.adapters.web.shared.answers import drawing, page
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import FromForm, Signed
from grader.service.adapters.web.texts.asked import asked_line, options
from grader.service.adapters.web.texts.changes import changes
from grader.service.adapters.web.texts.comments import comment_lines
from grader.service.adapters.web.texts.handouts import KINDS, picture_of
from grader.service.adapters.web.texts.paces import pace_line, time_text
from grader.service.adapters.web.texts.reports import drawn
from grader.service.adapters.web.texts.uploads import from_form, handed_in, parts_of
from grader.service.core.desk import Allowance
from grader.service.core.door import Visit
from grader.service.core.views import told
from grader.service.domain.records import SHOWN_HASH, Event, HandIn, Origin, State, Who
from grader.service.domain.refusals import NotFound
from grader.text import moment_text, number

with needs("service"):
    from fastapi import APIRouter, File, Form, UploadFile
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
_SAID = {
    "begun": "The grading has begun",
    "again": "Something of ours broke; it is graded again",
    "graded": word("Graded"),
    "held": "Something of ours broke; your instructors look at it",
    "superseded": "A newer hand-in has taken its place",
}
_CAME = {
    Origin.TERMINAL: word("by terminal"),
    Origin.WEB: word("by web"),
    Origin.NOTEBOOK: word("by notebook"),
    Origin.GIT: word("by git"),
}


@dataclass(frozen=True, slots=True)
class LabLine:
    """A lab in the list: texts as they stand there."""

    lab: Lab
    mark: str
    why: str
    deadline: str
    is_late: bool
    left: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class HandInLine:
    """A hand-in in a list."""

    item: HandIn
    moment: str
    points: str
    waits: bool = False  # for a reader


@router.get("/")
def labs(request: Request, visit: Signed) -> Response:
    """List the labs."""
    site = site_of(request)
    name = visit.who.name
    book = None if visit.who.is_staff else site.gradebook(student=name)
    marks = {mark.lab: mark for mark in book.of(name)} if book and book.students else {}
    held = {lab for lab in marks if site.views.held(visit.who, name, lab)}
    for lab in held:
        marks[lab] = replace(marks[lab], points=None, attempt=None, why=HELD_BACK)
    has_total = book is not None and bool(marks) and not held
    return page(
        site,
        "labs.html",
        visit=visit,
        lines=[_lab_line(site, visit, lab, marks.get(lab.name)) for lab in site.labs],
        total=book.total_line(name) if book and has_total else "",
        because=book.total_why(name) if book and has_total else "",
    )


@router.get("/labs/{name}")
def lab(request: Request, visit: Signed, name: str) -> Response:
    """Show a lab: what may be handed in, what was, and the handout."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    may = None if visit.who.is_staff else site.desk.allowance(visit.who.name, chosen)
    own = [] if visit.who.is_staff else site.views.hand_ins(visit.who.name, chosen)
    handout = site.handouts[chosen.name, spoken()]
    return page(
        site,
        "lab.html",
        visit=visit,
        lab=chosen,
        mates=[
            each
            for each in site.course.team(visit.who.name, chosen.number)
            if each != visit.who.name
        ],
        may=may,
        deadline=_deadline(site, may, chosen),
        left=_left(may),
        lines=hand_in_lines(site, visit.who, list(reversed(own))),
        handout=Markup(handout.html),
        sections=handout.sections,
        spoken=handout.language,
        has_board=any(task.ladders for task in chosen.tasks),
        has_answers=are_shown(site, visit.who, chosen),
    )


@router.post("/labs/{name}/hand-ins")
def hand_in(
    request: Request,
    visit: FromForm,
    name: str,
    code: Annotated[list[UploadFile], File(default_factory=list)],
    pseudocode: Annotated[list[UploadFile], File(default_factory=list)],
    code_text: Annotated[str, Form()] = "",
    pseudocode_text: Annotated[str, Form()] = "",
) -> Response:
    """Take in what a form brought."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    refuse_what_cannot_be_taken(site, visit.who, chosen)
    parts = from_form(chosen, parts_of(code), parts_of(pseudocode), code_text, pseudocode_text)
    files, note = handed_in(chosen, parts)
    device = site.device(chosen)
    item = site.desk.take(visit.who, chosen, files, Origin.WEB, device=device, note=note)
    return RedirectResponse(f"/attempts/{item.number}", 303)


@router.get("/labs/{name}/pictures/{file}")
def picture(request: Request, visit: Signed, name: str, file: str) -> Response:
    """Give a picture of a handout."""
    path = picture_of(site_of(request).desk.lab(name), file)
    if path is None:
        raise NotFound("there is no such picture")
    return drawing(path.read_bytes(), KINDS[path.suffix])


@router.get("/attempts/{count}")
def attempt(request: Request, visit: Signed, count: int) -> Response:
    """Show where a hand-in is, and what came of it."""
    site = site_of(request)
    item = site.views.hand_in(visit.who, count)
    chosen = site.desk.lab(item.lab)
    graded = site.views.attempt(visit.who, item)
    outlook, place = site.views.outlook(item), site.views.place(item)
    pace = outlook.paces.get(item.device)
    shown = site.views.report(visit.who, graded) if graded else None
    report = drawn(shown, f"/attempts/{item.number}/pictures").html if shown else ""
    zone, requests = site.course.zone, site.requests
    waits = graded is not None and site.views.points(graded) is None  # for a reader
    return page(
        site,
        "attempt.html",
        visit=visit,
        item=item,
        came=_CAME[item.origin],
        lab=chosen,
        graded=graded,
        held_back=site.views.held(visit.who, item.student, item.lab),
        hold=site.views.hold(item) if visit.who.is_staff else None,
        report=Markup(report),
        place=place,
        pace=pace_line(pace) if pace else None,
        expected=time_text(pace.expected(place)) if pace and place else "",
        steps=[] if graded else [_step(event) for event in site.store.events(item.number)],
        receipt=item.sha256[:SHOWN_HASH],
        received=moment_text(item.received, zone),
        before=site.views.before(item),
        files=chosen.handed_in,
        waits=waits,
        comments=comment_lines(
            said(site.store.reading.comments(item.lab, item.student), item.key),
            zone,
            to_staff=visit.who.is_staff,
        )
        if not site.views.held(visit.who, item.student, item.lab)
        else (),
        canned=site.course.canned,
        by_hand=corrected(graded, site.store.reading.corrections(item.student)).said
        if graded and (visit.who.is_staff or not waits)
        else (),
        asked=[asked_line(requests, visit.who, a, zone) for a in requests.of_attempt(item)],
        **options(requests, visit.who, item, graded, shown, zone),
        may_repeat=visit.who.is_staff and item.state is State.HELD,
    )


@router.get("/attempts/{count}/events")
def events(request: Request, visit: Signed, count: int) -> EventStream:
    """Stream what happens to a hand-in."""
    site = site_of(request)
    return stream(site, request, visit.who, site.views.hand_in(visit.who, count))


@router.get("/attempts/{count}/files/{name}")
def file(request: Request, visit: Signed, count: int, name: str) -> Response:
    """Give a file back as it was handed in."""
    site = site_of(request)
    return file_of(site, site.views.hand_in(visit.who, count), name)


@router.get("/attempts/{count}/pictures/{at}.svg")
def plot(request: Request, visit: Signed, count: int, at: int) -> Response:
    """Give a picture of a report."""
    site = site_of(request)
    graded = site.views.attempt(visit.who, site.views.hand_in(visit.who, count))
    pictures = drawn(site.views.report(visit.who, graded), "").pictures if graded else ()
    if not 0 <= at < len(pictures):
        raise NotFound("there is no such picture")
    return drawing(pictures[at].encode("utf-8", "replace"), KINDS[".svg"])


@router.get("/attempts/{count}/diff")
def difference(request: Request, visit: Signed, count: int) -> Response:
    """Show what changed since the attempt before."""
    site = site_of(request)
    item = site.views.hand_in(visit.who, count)
    before = site.views.before(item)
    if before is None:
        raise NotFound("there is nothing to compare it with")
    chosen = site.desk.lab(item.lab)
    found = changes(site.views.files(before, chosen), site.views.files(item, chosen))
    return page(site, "diff.html", visit=visit, item=item, before=before, lab=chosen, found=found)


def hand_in_lines(site: Site, who: Who, items: Sequence[HandIn]) -> list[HandInLine]:
    """Return hand-ins with what somebody may see of their points, as lists show them."""
    zone, found = site.course.zone, site.views.gradings_of(who, items)
    return [
        HandInLine(item, moment_text(item.received, zone), *_points(site, found.get(item.key)))
        for item in items
    ]


def _points(site: Site, attempt: Attempt | None) -> tuple[str, bool]:
    """Return the points of a grading, and whether it waits for a reader."""
    worth = site.views.points(attempt) if attempt else None
    if worth is None:
        return "-", attempt is not None
    return f"{number(worth[0])} / {number(worth[1])}", False


def _lab_line(site: Site, visit: Visit, lab: Lab, found: Mark | None) -> LabLine:
    may = None if visit.who.is_staff else site.desk.allowance(visit.who.name, lab)
    deadline = _deadline(site, may, lab)
    late = may is not None and may.late
    shown = (points_of(found), found.why) if found else ("-", "nothing was graded yet")
    is_held = found is not None and found.why == HELD_BACK
    return LabLine(lab, *shown, deadline, late, _left(may), is_held)


def _deadline(site: Site, may: Allowance | None, lab: Lab) -> str:
    moment = may.deadline if may else site.course.deadline("", lab.number)
    return moment_text(moment, site.course.zone) if moment else ""


def _left(may: Allowance | None) -> str:
    if may is None:
        return ""
    if may.refusal is not None and may.left != 0:
        return "not now"
    return "any number" if may.left is None else str(may.left)


def _step(event: Event) -> str:
    data = told(event)
    if event.kind == "task":
        task, tests = data.get("task", ""), data.get("tests", "")
        is_judged = data.get("ended") == data.get("tests")
        return f"{task}: {tests} tests judged" if is_judged else f"{task}: {tests} tests"
    return _SAID.get(event.kind, event.kind)
