"""The API of the clients: JSON, by bearer tokens alone."""

from datetime import timedelta
from typing import Annotated, Any

from grader.course.database.giving.records import HELD_BACK
from grader.course.database.records import Attempt
from grader.course.reading.comments import place_of, standing
from grader.extras import needs
from grader.labs.lab import Lab
from grader.labs.manual import WAITING
from grader.service.adapters.web.live import EventStream, stream
from grader.service.adapters.web.shared.answers import too_often
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import Bearer
from grader.service.adapters.web.texts.uploads import handed_in, parts_of
from grader.service.domain.records import HandIn, Origin, Who
from grader.service.domain.refusals import BadWork, NotFound

with needs("service"):
    from fastapi import APIRouter, File, Form, UploadFile
    from starlette.requests import Request
    from starlette.responses import Response

router = APIRouter(prefix="/api")
CLIENTS = (Origin.TERMINAL, Origin.NOTEBOOK)


@router.get("/me")
def me(request: Request, who: Bearer) -> dict[str, Any]:
    """Tell whose token it is."""
    return {"name": who.name, "role": who.role, "course": site_of(request).course.title}


@router.get("/labs")
def labs(request: Request, who: Bearer) -> dict[str, Any]:
    """List the labs, with what the student may do in each."""
    site = site_of(request)
    return {"labs": [_lab(site, who, lab) for lab in site.labs]}


@router.get("/labs/{lab}/hand-ins")
def hand_ins(request: Request, who: Bearer, lab: str) -> dict[str, Any]:
    """List the hand-ins of a lab by the student and their team."""
    site = site_of(request)
    chosen = site.desk.lab(lab)
    found = site.views.hand_ins(who.name, chosen)
    graded = site.views.gradings_of(who, found)
    told = {"held_back": _held_back(site, who, who.name, chosen.name)}
    return {
        "hand_ins": [
            _state(site, item) | _points(site, graded.get(item.key)) | told for item in found
        ]
    }


@router.post("/labs/{lab}/hand-ins", status_code=201)
def hand_in(
    request: Request,
    who: Bearer,
    lab: str,
    files: Annotated[list[UploadFile], File()],
    origin: Annotated[str, Form()] = Origin.TERMINAL,
) -> dict[str, Any]:
    """Take work in; the answer is its receipt."""
    if origin not in CLIENTS:
        raise BadWork("origin is neither terminal nor notebook")
    site = site_of(request)
    chosen = site.desk.lab(lab)
    refuse_what_cannot_be_taken(site, who, chosen)
    content, note = handed_in(chosen, parts_of(files))
    device = site.device(chosen)
    item = site.desk.take(who, chosen, content, Origin(origin), device=device, note=note)
    return _state(site, item)


@router.get("/hand-ins/{number}")
def attempt(request: Request, who: Bearer, number: int) -> dict[str, Any]:
    """Tell where a hand-in is, and what came of it."""
    site = site_of(request)
    item = site.views.hand_in(who, number)
    outlook, place = site.views.outlook(item), site.views.place(item)
    pace = outlook.paces.get(item.device)
    found = _state(site, item) | {
        "place": place,
        "wait_expected_seconds": _seconds(pace.expected(place) if pace and place else None),
        "wait_median_seconds": _seconds(pace.median if pace else None),
        "wait_worst_seconds": _seconds(pace.worst if pace else None),
        "comments": [
            {
                "author": word.author,
                "text": word.text,
                "made": word.made.isoformat(),
                "about": place_of(word).shown,
            }
            for word in standing(site.store.reading.comments(item.lab, item.student), item.key)
        ],
    }
    graded = site.views.attempt(who, item)
    report = site.views.report(who, graded).to_json() if graded else None
    held_back = _held_back(site, who, item.student, item.lab)
    return found | _points(site, graded) | {"report": report, "held_back": held_back}


@router.get("/hand-ins/{number}/events")
def events(request: Request, who: Bearer, number: int) -> EventStream:
    """Stream what happens to a hand-in."""
    site = site_of(request)
    return stream(site, request, who, site.views.hand_in(who, number))


@router.get("/hand-ins/{number}/files/{name}")
def file(request: Request, who: Bearer, number: int, name: str) -> Response:
    """Give a file back as it was handed in."""
    site = site_of(request)
    return file_of(site, site.views.hand_in(who, number), name)


def file_of(site: Site, item: HandIn, name: str) -> Response:
    """Return a file of a hand-in to be kept, never to be shown by a browser."""
    lab = site.desk.lab(item.lab)
    if name not in lab.handed_in:
        raise NotFound("there is no such file")
    content = site.views.files(item, lab).get(name)
    if content is None:
        raise NotFound("this file was not handed in, or is gone")
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return Response(content, media_type="text/plain; charset=utf-8", headers=headers)


def refuse_what_cannot_be_taken(site: Site, who: Who, lab: Lab) -> None:
    """Refuse by role, policy and rate before anything that came is looked at."""
    if who.is_staff:
        raise NotFound("only students hand in")
    refused = site.desk.allowance(who.name, lab).refusal
    if refused is not None:
        raise refused
    wait = site.limits.hand_ins.take(who.name)
    if wait:
        raise too_often(wait)


def _lab(site: Site, who: Who, lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = {"number": lab.number, "name": lab.name, "title": lab.title}
    if who.is_staff:
        deadline = site.course.deadline("", lab.number)
        return found | {"deadline": deadline.isoformat() if deadline else None}
    may = site.desk.allowance(who.name, lab)
    again = may.refusal.again if may.refusal else None
    return found | {
        "deadline": may.deadline.isoformat() if may.deadline else None,
        "late": may.late,
        "left": may.left,
        "refused": may.refusal.message if may.refusal else None,
        "again": again.isoformat() if again else None,
    }


def _held_back(site: Site, who: Who, student: str, lab: str) -> str | None:
    return HELD_BACK if site.views.held(who, student, lab) else None


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()


def _points(site: Site, graded: Attempt | None) -> dict[str, Any]:
    worth = site.views.points(graded) if graded else None
    if worth is None:
        told = {"waits": WAITING} if graded else {}
        return {"points": None, "possible": None, **told}
    return {"points": worth[0], "possible": worth[1]}


def _state(site: Site, item: HandIn) -> dict[str, Any]:
    return {
        "number": item.number,
        "lab": item.lab,
        "student": item.student,
        "state": item.state,
        "sha256": item.sha256,
        "received": item.received.isoformat(),
        "origin": item.origin,
        "note": item.note,
        "page": site.page_of(item.number),
    }
