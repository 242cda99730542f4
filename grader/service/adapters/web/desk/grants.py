"""More time for a student, and lateness that costs nothing: granted and taken back on the web."""

from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from grader.course.database.records import Grant, GrantKind
from grader.course.grants import check_grant, moment_of
from grader.extras import needs
from grader.service.adapters.web.shared.answers import Told, text_of_form
from grader.service.adapters.web.shared.site import Site, site_of
from grader.service.adapters.web.shared.visitors import InstructorForm
from grader.service.domain.refusals import NotFound
from grader.text import moment_text

with needs("service"):
    from fastapi import APIRouter, Form
    from starlette.requests import Request
    from starlette.responses import RedirectResponse, Response

router = APIRouter()


@router.post("/grants")
def grant(
    request: Request,
    visit: InstructorForm,
    student: Annotated[str, Form()],
    lab: Annotated[str, Form()],
    kind: Annotated[str, Form()],
    reason: Annotated[str, Form()],
    until: Annotated[str, Form()] = "",
    take_back: Annotated[str, Form()] = "",
) -> Response:
    """Grant a student something in a lab, or take it back: a row of its own, with a reason.

    ``until`` is in the course's time zone where it names no offset.
    """
    site = site_of(request)
    if student not in {each.id for each in site.store.students()}:
        raise NotFound("there is no such student")
    name = site.desk.lab(lab).name
    why = text_of_form(reason, "a grant needs a reason")
    what, holds = _kind(kind), not take_back
    moment = _until(site, until) if what is GrantKind.EXTENSION and holds else None
    word = Grant(student, name, what, moment, holds, visit.who.name, why, site.now())
    check_grant(site.course, site.books.grants(), word)
    site.books.add_grant(word)
    return RedirectResponse("/students/" + quote(student, safe="") + "#time", 303)


def told_of(site: Site, student: str) -> list[str]:
    """Return what was granted a student, and taken back, a line each, oldest first."""
    return [_line(site, word) for word in site.books.grants() if word.student == student]


def _line(site: Site, word: Grant) -> str:
    if word.kind is GrantKind.WAIVER:
        what = "lateness waived" if word.holds else "lateness no longer waived"
    elif word.holds:
        what = f"extended to {moment_text(word.until, site.course.zone)}"
    else:
        what = "no longer extended"
    when = moment_text(word.made, site.course.zone)
    return f"{word.lab}: {what}, by {word.author} on {when}: {word.reason}"


def _kind(text: str) -> GrantKind:
    try:
        return GrantKind(text)
    except ValueError:
        raise Told(422, "an extension or a waiver can be granted") from None


def _until(site: Site, text: str) -> datetime:
    if not text.strip():
        raise Told(422, "an extension needs the moment until which it lasts")
    return moment_of(text.strip(), site.course.zone)
