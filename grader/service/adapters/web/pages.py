"""The pages of students; the staff sees them too, of everybody. They work without JavaScript."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from grader.course.database.records import Attempt
from grader.course.gradebook.marks import Mark, mark
from grader.course.gradebook.pages import points_of
from grader.extras import needs
from grader.labs.lab import Lab
from grader.service.adapters.web.answers import page
from grader.service.adapters.web.api import file_of, refuse_what_cannot_be_taken
from grader.service.adapters.web.live import EventStream, stream
from grader.service.adapters.web.site import Site, site_of
from grader.service.adapters.web.texts.changes import changes
from grader.service.adapters.web.texts.handouts import KINDS, picture_of
from grader.service.adapters.web.texts.paces import pace_line, time_text
from grader.service.adapters.web.texts.reports import drawn
from grader.service.adapters.web.texts.uploads import from_form, handed_in, parts_of
from grader.service.adapters.web.visitors import FromForm, Signed
from grader.service.core.desk import Allowance
from grader.service.core.door import Visit
from grader.service.core.outlook import Pace
from grader.service.core.views import told
from grader.service.domain.records import SHOWN_HASH, Event, HandIn, Origin, State
from grader.service.domain.refusals import NotFound
from grader.text import moment_text, number, visible

with needs("service"):
    from fastapi import APIRouter, File, Form, UploadFile
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
MOST_SHOWN = 500  # of what waits, on a page
_SAID = {
    "begun": "The grading has begun",
    "again": "Something of ours broke; it is graded again",
    "graded": "Graded",
    "held": "Something of ours broke; your instructors look at it",
    "superseded": "A newer hand-in has taken its place",
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


@dataclass(frozen=True, slots=True)
class HandInLine:
    """A hand-in in a list."""

    item: HandIn
    moment: str
    points: str


@router.get("/")
def labs(request: Request, visit: Signed) -> Response:
    """List the labs."""
    site = site_of(request)
    attempts, overrides = [], []
    if not visit.who.is_staff:
        attempts = site.store.attempts(student=visit.who.name)
        overrides = [o for o in site.books.overrides() if o.student == visit.who.name]
    lines: list[LabLine] = []
    for lab in site.labs:
        found = mark(attempts, overrides, site.course, visit.who.name, lab.name)
        lines.append(_lab_line(site, visit, lab, found))
    return page(site, "labs.html", visit=visit, lines=lines)


@router.get("/labs/{name}")
def lab(request: Request, visit: Signed, name: str) -> Response:
    """Show a lab: what may be handed in, what was, and the handout."""
    site = site_of(request)
    chosen = site.desk.lab(name)
    may = None if visit.who.is_staff else site.desk.allowance(visit.who.name, chosen)
    own = [] if visit.who.is_staff else site.store.hand_ins(visit.who.name, chosen.name)
    handout = site.handouts[chosen.name]
    return page(
        site,
        "lab.html",
        visit=visit,
        lab=chosen,
        may=may,
        deadline=_deadline(site, may, chosen),
        left=_left(may),
        lines=hand_in_lines(site, list(reversed(own))),
        handout=Markup(handout.html),
        sections=handout.sections,
        has_board=any(task.ladders for task in chosen.tasks),
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
    graded = site.views.attempt(item)
    outlook, place = site.views.outlook(item), site.views.place(item)
    pace = outlook.paces.get(item.device)
    shown = site.views.report(visit.who, graded) if graded else None
    report = drawn(shown, f"/attempts/{item.number}/pictures").html if shown else ""
    zone = site.course.zone
    return page(
        site,
        "attempt.html",
        visit=visit,
        item=item,
        lab=chosen,
        graded=graded,
        report=Markup(report),
        place=place,
        pace=pace_line(pace) if pace else None,
        expected=time_text(pace.expected(place)) if pace and place else "",
        steps=[] if graded else [_step(event) for event in site.store.events(item.number)],
        receipt=item.sha256[:SHOWN_HASH],
        received=moment_text(item.received, zone),
        before=site.views.before(item),
        files=(chosen.code_name, chosen.pseudocode.name),
        comments=[
            (word.author, moment_text(word.made, zone), _block(word.text))
            for word in site.store.comments(item.number)
        ],
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
    graded = site.views.attempt(site.views.hand_in(visit.who, count))
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


@router.get("/queue")
def queue(request: Request, visit: Signed) -> Response:
    """Show what waits: places and labs, and names to the staff alone."""
    site = site_of(request)
    outlook = site.views.outlook()
    paces = [each for each in outlook.paces.values() if _is_used(site, each)]
    return page(
        site,
        "queue.html",
        visit=visit,
        waiting=[(outlook.places[item.number], item) for item in outlook.waiting[:MOST_SHOWN]],
        running=outlook.running[:MOST_SHOWN],
        more=max(len(outlook.waiting) - MOST_SHOWN, 0),
        counts=(len(outlook.waiting), len(outlook.running)),
        paces=[pace_line(each) for each in paces],
        again=_again(site) if visit.who.is_staff else 0,
    )


def _again(site: Site) -> int:
    counts = site.store.regradings.counts()
    return sum(counts.get(state, 0) for state in (State.WAITING, State.RUNNING))


def _is_used(site: Site, pace: Pace) -> bool:
    used = {site.device(lab) for lab in site.labs}
    return pace.device in used or bool(pace.waiting or pace.running or pace.median)


def drawing(content: bytes, kind: str) -> Response:
    """Return a picture, which may hold style of its own and nothing that runs."""
    headers = {"content-security-policy": SVG_POLICY, "cache-control": "private, max-age=300"}
    return Response(content, media_type=kind, headers=headers)


def hand_in_lines(site: Site, items: Sequence[HandIn]) -> list[HandInLine]:
    """Return hand-ins with their points, as lists show them."""
    zone = site.course.zone
    found: dict[str, Attempt] = {}
    for student, name in {(item.student, item.lab) for item in items}:
        found |= site.views.gradings(student, name)
    return [
        HandInLine(item, moment_text(item.received, zone), _points(found.get(item.key)))
        for item in items
    ]


def _points(attempt: Attempt | None) -> str:
    return f"{number(attempt.points)} / {number(attempt.possible)}" if attempt else "-"


def _lab_line(site: Site, visit: Visit, lab: Lab, found: Mark) -> LabLine:
    may = None if visit.who.is_staff else site.desk.allowance(visit.who.name, lab)
    deadline = _deadline(site, may, lab)
    late = may is not None and may.late
    return LabLine(lab, points_of(found), found.why, deadline, late, _left(may))


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
        judged = " judged" if data.get("ended") == data.get("tests") else ""
        return f"{data.get('task', '')}: {data.get('tests', '')} tests{judged}"
    return _SAID.get(event.kind, event.kind)


def _block(text: str) -> Markup:
    return Markup("<br>").join(visible(text).split("\n"))
