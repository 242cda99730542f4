"""Launches from a learning platform: whom it vouches for is signed in, and comes to a lab.

Nobody is anybody by a launch alone: students are those of the roster, and the platform's
instructors are instructors here only if the course says so.
"""

import hashlib
import logging
from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import urlsplit

from grader.extras import needs
from grader.service.adapters.web.gate.gate import POLICY
from grader.service.adapters.web.lti.tool import Launch, LaunchRefusedError, Tool
from grader.service.adapters.web.shared.answers import Told, page, too_often
from grader.service.adapters.web.shared.site import Launches, Site, site_of
from grader.service.adapters.web.shared.visitors import client_address, keep_session
from grader.service.domain.records import Role
from grader.service.domain.refusals import NotFound
from grader.text import visible_line

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import JSONResponse, RedirectResponse, Response

router = APIRouter()
BACK = "/lti/launch"
LASTS = 600  # seconds that the platform may take
REFUSED = "the launch was not completed"
HINT = "open the link on your learning platform anew, in a window of its own"
log = logging.getLogger(__name__)


@router.get("/lti/keys.json")
def keys(request: Request) -> Response:
    """Give the keys by which the platform knows what we sign."""
    return JSONResponse(_launches(site_of(request)).tool.keys())


@router.get("/lti/login")
def begin(
    request: Request,
    iss: str = "",
    login_hint: str = "",
    lti_message_hint: str = "",
    client_id: str = "",
) -> Response:
    """Send a browser to the platform, with words that it must bring back."""
    return _begin(request, iss, login_hint, lti_message_hint, client_id)


@router.post("/lti/login")
def begin_by_form(
    request: Request,
    iss: Annotated[str, Form()] = "",
    login_hint: Annotated[str, Form()] = "",
    lti_message_hint: Annotated[str, Form()] = "",
    client_id: Annotated[str, Form()] = "",
) -> Response:
    """Send a browser to the platform, which may ask for it either way."""
    return _begin(request, iss, login_hint, lti_message_hint, client_id)


@router.post(BACK)
def launch(
    request: Request,
    id_token: Annotated[str, Form()] = "",
    state: Annotated[str, Form()] = "",
    error: Annotated[str, Form()] = "",
) -> Response:
    """Open a session for whom the platform vouches for, and go to the lab of the link."""
    site = site_of(request)
    launches = _launches(site)
    try:
        brought = {"id_token": id_token, "state": state, "error": error}
        kept = request.cookies.get(_cookie(site), "")
        found = launches.tool.launch(brought, kept)
        mark = hashlib.sha256(kept.encode()).hexdigest()
        if not site.store.first_delivery(f"lti:{mark}", site.now()):
            raise LaunchRefusedError("it came before")
        if found.context is not None:
            launches.platforms.note_context(replace(found.context, seen=site.now()))
        if found.chooses:
            answer = _choice(site, launches.tool, found)
        else:
            answer = _signed_in(site, launches, found)
    except LaunchRefusedError as problem:
        raise _refused(site, request, problem) from None
    answer.delete_cookie(
        _cookie(site), path="/", secure=site.is_tls, httponly=True, samesite=_same(site)
    )
    return answer


def _begin(request: Request, iss: str, login: str, message: str, client_id: str) -> Response:
    site = site_of(request)
    asked = {"iss": iss, "login_hint": login, "lti_message_hint": message}
    try:
        address, kept = _launches(site).tool.begin(
            asked | ({"client_id": client_id} if client_id else {})
        )
    except LaunchRefusedError as problem:
        raise _refused(site, request, problem) from None
    answer = RedirectResponse(address, 303)
    answer.set_cookie(
        _cookie(site),
        kept,
        max_age=LASTS,
        path="/",
        secure=site.is_tls,
        httponly=True,
        samesite=_same(site),
    )
    return answer


def _signed_in(site: Site, launches: Launches, found: Launch) -> Response:
    owner = _owner(launches, found)
    role = found.role
    if role is None:
        raise Told(403, "your role on the learning platform has none here", "ask your instructor")
    if role is Role.INSTRUCTOR and not launches.instructors:
        told = "the learning platform's instructors are none here"
        raise Told(403, told, "sign in with your token; the course may allow it in [service.lti]")
    if not owner:
        told = "the learning platform names nobody who is on the roster of this course"
        raise Told(403, told, "ask your instructor to enter your e-mail address there")
    secret, _ = site.door.open(site.door.issue(owner, role))
    answer = RedirectResponse(_onward(site, found.lab), 303)
    keep_session(site, answer, secret)
    return answer


def _owner(launches: Launches, found: Launch) -> str:
    """Return a student's id, "" of who is on no roster, or the name of one of the staff."""
    if found.role is not Role.STUDENT:
        return found.email or f"lti {found.sub}"
    known = (f"lti {found.sub}", f"number {found.number}", f"email {found.email}")
    return next((launches.students[key] for key in known if key in launches.students), "")


def _onward(site: Site, lab: str) -> str:
    try:
        return f"/labs/{site.desk.lab(lab).number}" if lab else "/"
    except NotFound:
        return "/"


def _choice(site: Site, tool: Tool, found: Launch) -> Response:
    """Let one of the staff choose the lab of a new link."""
    if found.role not in (Role.ASSISTANT, Role.INSTRUCTOR):
        raise LaunchRefusedError("a link is chosen by the staff")
    labs = {str(lab.number): f"{lab.number:02d} {lab.title}" for lab in site.labs}
    links = tool.links(found, labs)
    answer = page(site, "link.html", visit=None, links=links)
    # The one form that leads elsewhere: to the platform, which named the place in what it signed.
    place = urlsplit(links[0].address) if links else None
    if place:
        to = f"form-action {place.scheme}://{place.netloc}"
        answer.headers["content-security-policy"] = POLICY.replace("form-action 'self'", to)
    return answer


def _refused(site: Site, request: Request, problem: LaunchRefusedError) -> Told:
    address = client_address(request)
    if wait := site.limits.failures.wait(address):
        return too_often(wait)
    site.limits.failures.take(address)
    log.warning("a launch was refused: %s", visible_line(str(problem), 300))
    return Told(403, REFUSED, HINT)


def _launches(site: Site) -> Launches:
    if site.launches is None:
        raise NotFound("there is no such page")
    return site.launches


def _cookie(site: Site) -> str:
    return "__Host-lti" if site.is_tls else "lti"


def _same(site: Site) -> Literal["none", "lax"]:
    """A launch is a form of another site's: cookies come with it only if they say so, with TLS."""
    return "none" if site.is_tls else "lax"
