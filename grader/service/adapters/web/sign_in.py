"""Signing in and out: a token opens a session, and the browser has a cookie of it."""

import re
from typing import Annotated

from grader.extras import needs
from grader.service.adapters.web.answers import page, too_often
from grader.service.adapters.web.site import Site, site_of
from grader.service.adapters.web.visitors import (
    FromForm,
    client_address,
    drop_session,
    is_from_here,
    is_marked,
    keep_session,
    keep_word,
    word_before,
)
from grader.service.domain.refusals import NotSignedIn

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()
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
        return _login(site, request, then, error.line, 401)
    answer = RedirectResponse(path_of_ours(then), 303)
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


def _login(site: Site, request: Request, then: str, problem: str, status: int) -> Response:
    word = word_before(request)
    onward = path_of_ours(then)
    has_oidc = site.identity is not None
    shown = {"then": onward, "problem": problem, "csrf": word, "has_oidc": has_oidc}
    answer = page(site, "login.html", status, visit=None, **shown)
    keep_word(site, answer, word)
    return answer


def path_of_ours(then: str) -> str:
    """Return a path of ours to go on to: nothing that a browser would read as another host."""
    return then if _PATH.fullmatch(then) and "//" not in then else "/"
