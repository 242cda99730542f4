"""Who asks: browsers by a cookie, and forms by a word of their own; clients by a bearer token."""

import secrets
from typing import Annotated
from urllib.parse import urlsplit

from grader.extras import needs
from grader.service.adapters.web.gate.rates import address_key
from grader.service.adapters.web.shared.answers import Told, too_often
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.core.door import LASTS, Visit, same
from grader.service.domain.records import Role, Who
from grader.service.domain.refusals import NotFound, NotSignedIn

with needs("service"):
    from fastapi import Depends, Form
    from starlette.requests import Request
    from starlette.responses import Response

BEFORE = "before"  # the cookie by which a form of who has not signed in yet is known


def visitor(request: Request) -> Visit:
    """Return whose session a browser has; raises NotSignedIn."""
    site = site_of(request)
    visit = _visit(site, request)
    if visit is None:
        raise NotSignedIn("you are not signed in", "sign in with your token")
    _slow_down(site, visit.who)
    return visit


Signed = Annotated[Visit, Depends(visitor)]


def staff_visitor(visit: Signed) -> Visit:
    """Return a visit of the staff; to others there is no such page."""
    if not visit.who.is_staff:
        raise NotFound("there is no such page")
    return visit


def form_visitor(request: Request, visit: Signed, csrf: Annotated[str, Form()] = "") -> Visit:
    """Return who sent a form that is one of ours."""
    if not (is_from_here(request) and same(visit.csrf, csrf)):
        raise Told(403, "this form is not from this session", "open the page anew and try again")
    return visit


def staff_form_visitor(visit: Annotated[Visit, Depends(form_visitor)]) -> Visit:
    """Return one of the staff who sent a form."""
    return staff_visitor(visit)


def instructor_form_visitor(visit: Annotated[Visit, Depends(form_visitor)]) -> Visit:
    """Return an instructor who sent a form."""
    if visit.who.role is not Role.INSTRUCTOR:
        raise NotFound("there is no such page")
    return visit


Staff = Annotated[Visit, Depends(staff_visitor)]
FromForm = Annotated[Visit, Depends(form_visitor)]
StaffForm = Annotated[Visit, Depends(staff_form_visitor)]
InstructorForm = Annotated[Visit, Depends(instructor_form_visitor)]


def bearer(request: Request) -> Who:
    """Return whose token a client has; cookies do not count here. Raises NotSignedIn."""
    site, address = site_of(request), client_address(request)
    wait = site.limits.failures.wait(address)
    if wait:
        raise too_often(wait)
    try:
        who = site.door.known(_token(request))
    except NotSignedIn:
        site.limits.failures.take(address)
        raise
    _slow_down(site, who)
    return who


Bearer = Annotated[Who, Depends(bearer)]


def is_still_in(request: Request) -> bool:
    """Whether the session or the token of a request that goes on has not ended meanwhile."""
    site = site_of(request)
    if not request.url.path.startswith("/api/"):
        return _visit(site, request) is not None
    try:
        site.door.known(_token(request))
    except NotSignedIn:
        return False
    return True


def is_from_here(request: Request) -> bool:
    """Whether a browser says that one of our own pages sent this, if it says anything."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def client_address(request: Request) -> str:
    """Return the key of the address that a request comes from."""
    return address_key(request.client.host if request.client else "")


def keep_session(site: Site, response: Response, secret: str) -> None:
    """Give a session to a browser."""
    response.set_cookie(
        site.session_cookie,
        secret,
        max_age=int(LASTS.total_seconds()),
        path="/",
        secure=site.is_tls,
        httponly=True,
        samesite="lax",
    )


def drop_session(site: Site, response: Response) -> None:
    """Take a session from a browser."""
    response.delete_cookie(
        site.session_cookie, path="/", secure=site.is_tls, httponly=True, samesite="lax"
    )


def word_before(request: Request) -> str:
    """Return the word that the form to sign in must carry."""
    return request.cookies.get(BEFORE, "") or secrets.token_urlsafe(24)


def keep_word(site: Site, response: Response, word: str) -> None:
    """Give the word of the form to the browser that is shown it."""
    response.set_cookie(
        BEFORE, word, max_age=3600, path="/login", secure=site.is_tls, httponly=True, samesite="lax"
    )


def is_marked(request: Request, csrf: str) -> bool:
    """Whether the form to sign in came from the browser that was shown it."""
    word = request.cookies.get(BEFORE, "")
    return bool(word) and same(word, csrf)


def _visit(site: Site, request: Request) -> Visit | None:
    secret = request.cookies.get(site.session_cookie, "")
    return site.door.visit(secret) if secret else None


def _token(request: Request) -> str:
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def _slow_down(site: Site, who: Who) -> None:
    wait = site.limits.people.take(f"{who.role} {who.name}")
    if wait:
        raise too_often(wait)
