"""Signing in and out: a token opens a session, and the browser has a cookie of it.

So does an account of the institution: a browser goes to the issuer and comes back, and the student
is whom the issuer vouches for and the roster names.
"""

import hashlib
import logging
import re
import secrets
from typing import Annotated

from grader.extras import needs
from grader.service.adapters.web.oidc.identity import Identity, NotVouchedError
from grader.service.adapters.web.shared.answers import Told, page, too_often
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import (
    FromForm,
    client_address,
    drop_session,
    is_from_here,
    is_marked,
    keep_session,
    keep_word,
    word_before,
)
from grader.service.core.door import same
from grader.service.domain.records import Role
from grader.service.domain.refusals import NotFound, NotSignedIn
from grader.text import visible_line

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
BACK = "/login/oidc/back"
LASTS = 600  # seconds that one may take at the issuer
REFUSED = "the sign-in was not completed"
HINT = "begin anew at /login; if it fails again, sign in with a token and tell your instructor"
log = logging.getLogger(__name__)
_PATH = re.compile(r"/[\w./-]*", re.ASCII)


@router.get("/login")
def login(request: Request, then: str = "/") -> Response:
    """Ask for a token."""
    site = site_of(request)
    return _login(site, request, then, "", 200)


@router.post("/login")
def sign_in(
    request: Request,
    token: Annotated[str, Form()] = "",
    csrf: Annotated[str, Form()] = "",
    then: Annotated[str, Form()] = "/",
) -> Response:
    """Open a session."""
    site, address = site_of(request), client_address(request)
    wait = site.limits.failures.wait(address)
    if wait:
        raise too_often(wait)
    if not (is_from_here(request) and is_marked(request, csrf)):
        return _login(site, request, then, "this form was too old; please try again", 403)
    try:
        secret, _ = site.door.open(token.strip())
    except NotSignedIn as error:
        site.limits.failures.take(address)
        return _login(site, request, then, error.message, 401, error.hint)
    answer = RedirectResponse(_path(then), 303)
    keep_session(site, answer, secret)
    return answer


@router.post("/logout")
def sign_out(request: Request, visit: FromForm) -> Response:
    """End the session."""
    site = site_of(request)
    site.door.close(request.cookies[site.session_cookie])
    answer = RedirectResponse("/login", 303)
    drop_session(site, answer)
    return answer


@router.get("/login/oidc")
def go(request: Request, then: str = "/") -> Response:
    """Send a browser to the issuer, with words that it must bring back."""
    site = site_of(request)
    identity = _identity(site)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    answer = RedirectResponse(identity.issuer.address(state, nonce, verifier), 303)
    crumbs = "|".join((state, nonce, verifier, _path(then)))
    answer.set_cookie(
        _cookie(site),
        crumbs,
        max_age=LASTS,
        path="/",
        secure=site.is_tls,
        httponly=True,
        samesite="lax",  # the way back begins at the issuer's site
    )
    return answer


@router.get(BACK)
def back(
    request: Request, code: str = "", state: str = "", iss: str = "", error: str = ""
) -> Response:
    """Open a session for the student whom the issuer vouches for."""
    site, address = site_of(request), client_address(request)
    identity = _identity(site)
    wait = site.limits.failures.wait(address)
    if wait:
        raise too_often(wait)
    try:
        student, onward = _student(site, identity, request, code, state, iss, error)
    except NotVouchedError as problem:
        site.limits.failures.take(address)
        log.warning("a sign-in was refused: %s", visible_line(str(problem), 300))
        raise Told(403, REFUSED, HINT) from None
    if not student:
        told = "your e-mail address is not on the roster of this course"
        raise Told(403, told, "ask your instructor to enter it there, as your account has it")
    answer = RedirectResponse(onward, 303)
    secret, _ = site.door.open(site.door.issue(student, Role.STUDENT))
    keep_session(site, answer, secret)
    answer.delete_cookie(_cookie(site), path="/", secure=site.is_tls, httponly=True, samesite="lax")
    return answer


def _login(
    site: Site, request: Request, then: str, problem: str, status: int, hint: str = ""
) -> Response:
    word = word_before(request)
    onward = _path(then)
    has_oidc = site.identity is not None
    shown = {"then": onward, "problem": problem, "hint": hint, "csrf": word, "has_oidc": has_oidc}
    answer = page(site, "login.html", status, visit=None, **shown)
    keep_word(site, answer, word)
    return answer


def _path(then: str) -> str:
    """Return a path of ours to go on to: nothing that a browser would read as another host."""
    return then if _PATH.fullmatch(then) and "//" not in then else "/"


def _student(
    site: Site, identity: Identity, request: Request, code: str, state: str, iss: str, error: str
) -> tuple[str, str]:
    """Return the student, "" if the address is nobody's, and the path to go on to."""
    crumbs = request.cookies.get(_cookie(site), "").split("|")
    if len(crumbs) != 4 or not same(crumbs[0], state):
        raise NotVouchedError("it was not begun in this browser")
    if error or not code:
        raise NotVouchedError(f"the issuer refused: {error}")
    if iss and not identity.issuer.is_called(iss):
        raise NotVouchedError("another issuer has answered")
    mark = hashlib.sha256(state.encode()).hexdigest()
    if not site.store.first_delivery(f"oidc:{mark}", site.now()):
        raise NotVouchedError("it came before")
    email = identity.issuer.email(code, crumbs[1], crumbs[2])
    return identity.students.get(email, ""), _path(crumbs[3])


def _identity(site: Site) -> Identity:
    if site.identity is None:
        raise NotFound("there is no such page")
    return site.identity


def _cookie(site: Site) -> str:
    return "__Host-oidc" if site.is_tls else "oidc"
